package history_test

import (
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A check that waits counts when its caller may begin: two that are told times a second apart are within a bucket of one token and a
// second, and two that are told one time are not, unless one of them gave its place back before.
func TestWaitsCountWhenTheyBegin(t *testing.T) {
	const second = int64(1e9)
	check := func(at, wait int64, serial uint64) history.Call {
		begin := epoch + at + wait
		return history.Call{
			Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: 1, Start: epoch + at, End: epoch + at, Wait: wait,
			Receipt: &history.Receipt{Owner: "a", Serial: serial, Span: history.Span{Start: begin, End: begin + second}},
		}
	}
	leaves := func(at int64, of history.Call) history.Call {
		return history.Call{
			Kind: history.KindReturn, Outcome: history.Taken, Limit: "api", Key: "k", Start: epoch + at, End: epoch + at, Receipt: of.Receipt,
		}
	}
	for name, tt := range map[string]struct {
		calls []history.Call
		found bool
	}{
		"in turn":             {[]history.Call{check(0, 0, 1), check(0, second, 2), check(0, 2*second, 3)}, false},
		"as if they did not":  {[]history.Call{check(0, 0, 1), check(0, 0, 2)}, true},
		"together":            {[]history.Call{check(0, second, 1), check(second/2, second/2, 2)}, true},
		"with one that comes": {[]history.Call{check(0, second, 1), check(second, 0, 2)}, true},
		"in a place given up": {[]history.Call{check(0, second, 1), leaves(second/2, check(0, second, 1)), check(second/2, second/2, 2)}, false},
		"in a place left too late": {
			[]history.Call{check(0, second, 1), leaves(second+1, check(0, second, 1)), check(second, 0, 2)}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []history.Limit{
				token(1, 1, second), {Name: "api", Algorithm: history.FixedWindow, Capacity: 1, Length: second},
			} {
				results, err := history.Run(&history.History{Limits: []history.Limit{limit}, Calls: tt.calls}, 0, "windows", "counts")
				if err != nil {
					t.Fatal(err)
				}
				if found := results[0].Found+results[1].Found > 0; found != tt.found {
					t.Errorf("%s: found %v, want %v: %v", limit.Algorithm, found, tt.found, results)
				}
			}
		})
	}
}

// A span lies where its caller may begin, and not where its call was.
func TestPlacedWhereItBegins(t *testing.T) {
	const second = int64(1e9)
	for start, found := range map[int64]bool{epoch: true, epoch + second: false, epoch + 2*second: true} {
		h := &history.History{Limits: []history.Limit{token(1, 1, second)}, Calls: []history.Call{{
			Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: 1, Start: epoch, End: epoch, Wait: second,
			Receipt: &history.Receipt{Owner: "a", Span: history.Span{Start: start, End: start + second}},
		}}}
		results, err := history.Run(h, 0, "placed")
		if err != nil || (results[0].Found > 0) != found {
			t.Errorf("a span from %d on: found %v, %v, want %v", start-epoch, results, err, found)
		}
	}
}

func TestWaitInvalid(t *testing.T) {
	c := history.Call{Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: 1, Wait: 1}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*history.Call){
		"negative":    func(c *history.Call) { c.Wait = -1 },
		"too long":    func(c *history.Call) { c.Wait = history.MaxWait + 1 },
		"of a denial": func(c *history.Call) { c.Outcome = history.Denied },
		"of a reset":  func(c *history.Call) { c.Kind, c.Outcome = history.KindReset, history.Done },
	} {
		wrong := c
		if spoil(&wrong); wrong.Validate() == nil {
			t.Errorf("%s: it passes", name)
		}
	}
}
