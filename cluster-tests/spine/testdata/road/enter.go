// Package road has a path that a test follows.
package road

// Enter is where requests come in.
func Enter(i int) bool {
	if i == 3 {
		seldom()
	}
	return step(i, func() bool { return deliver(i) })
}
