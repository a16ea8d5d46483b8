// Package browser drives the console in Chromium, as people use it, on clusters of processes, and the site of the pages. It is a module of its own: what drives a browser is
// for these tests alone. Run it with make test-browser, which installs what is missing.
package browser
