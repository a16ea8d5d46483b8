package nemesis

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// heldAtTheEnd are the buckets of which some node shows that something is held, when the time of all holds is over, and how many were
// looked at.
func (s *Stage) heldAtTheEnd() (looked int, held []string) {
	end := time.Now().Add(probeFor)
	for _, b := range s.traffic.asked() {
		if b.stream.holds == 0 {
			continue
		}
		for _, h := range s.members() {
			if wanted, _ := h.is(); !wanted {
				continue
			}
			for _, rule := range b.stream.rules {
				looked++
				if why := s.heldAt(h, rule.name, b.key, end); why != "" {
					held = append(held, fmt.Sprintf("%s of %s at %s: %s", rule.name, b.key, h.name, why))
				}
			}
		}
	}
	return looked, held
}

// heldAt says what a node shows that is held of a bucket, or nothing. Until the end it asks again: what a caller has not heard of may still
// be held.
func (s *Stage) heldAt(h *host, name, key string, end time.Time) (why string) {
	for {
		var in struct {
			Holds *struct {
				Open   int   `json:"open"`
				Tokens int64 `json:"tokens"`
			} `json:"holds"` // none of a line whose owner is gone, and what that held with it
		}
		err := s.read(context.Background(), h, "/debug/buckets/"+name+"/"+url.PathEscape(key)+"?format=json", &in)
		switch {
		case err == nil && (in.Holds == nil || in.Holds.Open == 0 && in.Holds.Tokens == 0):
			return ""
		case err == nil:
			why = fmt.Sprintf("%d tokens by %d holds", in.Holds.Tokens, in.Holds.Open)
		default:
			why = err.Error()
		}
		if time.Now().After(end) {
			return why
		}
		pause(context.Background(), deadline) //nolint:errcheck // it cannot be interrupted
	}
}
