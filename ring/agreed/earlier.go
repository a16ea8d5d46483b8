package agreed

import (
	"fmt"
	"maps"
	"time"
)

// Heard is within how long every node that decides is taken to have heard of a change of the limits, in nanoseconds.
const Heard = int64(24 * time.Hour)

// Earlier is what remains of numbers that a limit had before.
type Earlier struct {
	// Lead is how far ahead of now line could be reserved under them, in nanoseconds.
	Lead int64 `json:"lead"`
	// Until is when none of it lies ahead any more, in nanoseconds since the Unix epoch.
	Until int64 `json:"until"`
}

// farthest bounds times and reaches, in nanoseconds, so that they can be added.
const farthest = int64(1) << 61

// A reach is one that a limit had until a time.
type reach struct {
	limit string
	lead  int64
	until int64
}

// earlier is Earlier after a change at a time that has ended these reaches. What is past is left out.
func (s *State) earlier(ended []reach, at int64) map[string]Earlier {
	next := maps.Clone(s.Earlier)
	maps.DeleteFunc(next, func(_ string, e Earlier) bool { return e.Until <= at })
	for _, r := range ended {
		if r.until+r.lead+Heard <= at {
			continue
		}
		if next == nil {
			next = map[string]Earlier{}
		}
		was := next[r.limit]
		next[r.limit] = Earlier{Lead: max(was.Lead, r.lead), Until: max(was.Until, r.until+r.lead+Heard)}
	}
	return next
}

// checkReach refuses what no limit reaches, and times that none is.
func checkReach(limit string, lead, at int64) error {
	if limit == "" || lead <= 0 || lead > farthest || at <= 0 || at > farthest {
		return fmt.Errorf("%w: limit %q reaches %d ns ahead at %d", ErrInvalid, limit, lead, at)
	}
	return nil
}

// checkReaches is checkReach for all that the command tells.
func (c *SetLimits) checkReaches() error {
	for _, told := range []map[string]int64{c.Shorter, c.Longer} {
		for name, lead := range told {
			if err := checkReach(name, lead, c.At); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended are the reaches that the command ends.
func (c *SetLimits) ended() (ended []reach) {
	for name, lead := range c.Shorter {
		ended = append(ended, reach{name, lead, c.At})
	}
	return ended
}

// leave keeps in a draft how far those of its overrides before have let limits be reserved that are gone, or other ones, at a time.
func (s *State) leave(before *Overrides, at int64) {
	var ended []reach
	s.Overrides.EachChange(before, func(k OverrideKey, _ *Override) {
		was, had := before.Find(k)
		if !had || was.Reach == 0 {
			return
		}
		until := min(at, farthest)
		if was.Until != 0 {
			until = min(until, was.Until)
		}
		ended = append(ended, reach{k.Limit, was.Reach, until})
	})
	if len(ended) > 0 {
		s.Earlier = s.earlier(ended, at)
	}
}
