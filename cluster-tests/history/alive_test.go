package history_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A key that is denied for ever after everything was healed is stuck, and every checker that looks at denials reports it.
func TestStuckKey(t *testing.T) {
	stuck := func(denied func(*history.Call)) *history.History {
		s := easy
		s.seed = 1
		h := s.play()
		at := h.Calls[len(h.Calls)/4].End
		h.Faults = []history.Fault{{Start: at, End: at + 1, What: "node-1 is frozen"}, {Start: at + 1, End: at + 1, What: "healed"}}
		for i := range h.Calls {
			if c := &h.Calls[i]; c.End > at && c.Key == "key:0" {
				c.Outcome, c.Receipt = history.Denied, nil
				denied(c)
			}
		}
		return h
	}
	if names, _ := found(t, stuck(func(*history.Call) {}), millisecond); !slices.Equal(names, []string{"linear", "enough", "alive"}) {
		t.Errorf("a key that is always denied is found by %v", names)
	}
	slow := stuck(func(c *history.Call) { c.End = c.Start + history.Slow + 1 })
	if names, _ := found(t, slow, millisecond); !slices.Equal(names, []string{"enough"}) {
		t.Errorf("a key that is always denied, slowly, is found by %v", names)
	}
}

// Where nothing can be said, that is said.
func TestUnknown(t *testing.T) {
	s := easy
	h := s.play()
	end := h.Calls[len(h.Calls)-1].End
	h.Faults = []history.Fault{{Start: epoch, End: end, What: "a partition"}}
	results, err := history.Run(h, 0, "linear", "enough", "alive")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Found > 0 || r.Checker != "linear" && (r.Checked > 0 || r.Unknown == 0) || r.Note == "" {
			t.Errorf("under a fault that never ended: %+v", r)
		}
	}
	h.Faults = append(h.Faults, history.Fault{Start: end + 1, End: end + 1, What: "healed, all of it"})
	results, err = history.Run(h, 0, "alive")
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Checked != 0 || r.Unknown != 2 || !strings.Contains(r.Note, "not asked") {
		t.Errorf("no call was made afterwards: %+v", r)
	}
}

// Denials are compared, not only admissions.
func TestLinearLooksAtMost(t *testing.T) {
	h := busy.play()
	results, err := history.Run(h, millisecond, "linear")
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Found > 0 || r.Checked < len(h.Calls)*9/10 {
		t.Errorf("of %d calls: %+v", len(h.Calls), r)
	}
}

func TestBadArguments(t *testing.T) {
	h := easy.play()
	for want, err := range map[string]error{
		`"window" is not a checker`: func() error { _, err := history.Run(h, 0, "window"); return err }(),
		"epsilon: -1":               history.Check(h, -1),
		"no calls":                  history.Safe(&history.History{}, 0),
		"no calls to check":         func() error { _, err := history.RunKey(h, 0, "nobody"); return err }(),
		"is not among the limits":   history.Check(&history.History{Calls: []history.Call{h.Calls[0]}}, 0),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
