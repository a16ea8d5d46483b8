// Package clustertests holds the tests of jeton as a whole: real processes that are killed, frozen and restarted, and
// the rules that hold for the repository itself, such as who may import whom. It exports nothing, and nothing that is
// shipped may import it or the packages under it.
//
// Start with the test whose name says what you want to know. Tests that start processes stand here; what can run inside
// one process stands in a package under this one, where it also meets the race detector.
package clustertests
