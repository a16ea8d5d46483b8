package main

import (
	"os"
	"runtime"
)

// leastProcs is how many goroutines a node runs at once at least. Go's collector takes a quarter of them: of fewer than four
// that is no whole one, and it works on all of them in turn, for 10 to 20 ms each time, in which nothing else runs. With four
// the operating system shares its processors out among them, in finer pieces.
const leastProcs = 4

// spreadWork has at least leastProcs goroutines run at once, unless GOMAXPROCS says otherwise, or a quota of fewer processors than
// there are, as Go rounds it: threads that use one up sooner wait for the next period together.
func spreadWork() {
	_, given := os.LookupEnv("GOMAXPROCS")
	if n := runtime.GOMAXPROCS(0); !given && n == runtime.NumCPU() && n < leastProcs {
		runtime.GOMAXPROCS(leastProcs)
	}
}
