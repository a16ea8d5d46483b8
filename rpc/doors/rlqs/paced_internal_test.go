package rlqs

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The log has a line for each stored limit that cannot be assigned, and one for all names that strangers invent, which says how many were left out.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc, err := limit.ParseDocument([]byte("limits: {search: {capacity: 1, refill: 1/s}, login: {capacity: 1, refill: 1/s}}"))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p := newPaced(slog.New(slog.NewTextHandler(&out, nil)), func() *limit.Document { return doc })
		for range 2 {
			p.refused(refusedStrong, target{"search", "k"}, nil)
			p.refused(refusedStrong, target{"login", "k"}, nil)
			p.refused(refusedUnknown, target{"serach", "k"}, nil)
			p.refused(refusedUnknown, target{"other", "k"}, nil)
			p.refused(refusedID, target{}, errors.New("the bucket id has no entry \"key\""))
			time.Sleep(sayEvery / 2) //nolint:forbidigo // in a bubble
		}
		time.Sleep(sayEvery) //nolint:forbidigo // in a bubble
		p.refused(refusedUnknown, target{"other", "k"}, nil)
		for want, times := range map[string]int{
			"\n": 5, "limit=search": 1, "limit=login": 1, `perhaps \"search\" is meant`: 1, `has no entry \"key\"`: 1, "limit=other": 1, "more_since_last=3": 1,
		} {
			if n := strings.Count(out.String(), want); n != times {
				t.Errorf("%q stands %d times in the log, want %d:\n%s", want, n, times, &out)
			}
		}
	})
}
