// Package algorithm adds an algorithm to jeton, without changing a file of it: an overlay of the build brings one new file,
// testdata/toywindows.go, and one more line in the list of algorithms. All suites that run over every algorithm must then pass for
// it too. So an algorithm that spends a line needs nothing else.
package algorithm
