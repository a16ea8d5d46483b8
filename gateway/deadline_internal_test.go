package gateway

import (
	"context"
	"testing"
	"time"
)

func TestCallTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1H": time.Hour, "2M": 2 * time.Minute, "30S": 30 * time.Second, "100m": 100 * time.Millisecond, "7u": 7 * time.Microsecond,
		"99999999n": 99999999, "0n": 0, "99999999H": maxTimeout, "": -1, "S": -1, "1": -1, "1s": -1, "-1S": -1, "+1S": -1, "1 S": -1,
		"100000000S": -1, "１S": -1,
	} {
		got, ok := callTimeout(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, ok, want)
		}
	}
}

// A deadline is over when its time has come, whoever notices it first.
func TestDeadlinePassed(t *testing.T) {
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	coming, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
	defer cancel()
	if !deadlinePassed(over) || deadlinePassed(coming) || deadlinePassed(t.Context()) {
		t.Errorf("%v, %v, %v", deadlinePassed(over), deadlinePassed(coming), deadlinePassed(t.Context()))
	}
}
