package main

import (
	"os"
	"runtime"
	"testing"
)

// A node on few processors has Go run four goroutines at once, unless it was told otherwise, or may not use all of them.
func TestSpreadWork(t *testing.T) {
	before, all := runtime.GOMAXPROCS(0), runtime.NumCPU()
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for _, tt := range []struct {
		name      string
		env       string // GOMAXPROCS, if it is set
		now, want int
	}{
		{"as Go has it", "", all, max(all, leastProcs)},
		{"told otherwise", "1", 1, 1},
		{"told what Go would do", "all", all, all},
		{"a quota, or told to an earlier call", "", all + 1, all + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", tt.env)
			if tt.env == "" {
				if err := os.Unsetenv("GOMAXPROCS"); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GOMAXPROCS(tt.now)
			spreadWork()
			if got := runtime.GOMAXPROCS(0); got != tt.want {
				t.Errorf("%d goroutines run at once, want %d", got, tt.want)
			}
		})
	}
}
