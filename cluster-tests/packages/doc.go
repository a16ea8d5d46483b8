// Package packages tests what a release consists of: the packages on bare Debian machines, the files of the container's image, and that the
// same source makes the same bytes. `make test-packages` makes what is tested and runs it, as root, in namespaces of its own; it is a
// module of its own because nothing else of jeton can use it.
//
// A [machine] is a Debian root file system; a [unit] says how systemd would start a process on one.
package packages
