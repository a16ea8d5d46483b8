package limit_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const guarded = `limits:
  login: {capacity: 5, refill: 5/1m, penalty_after: 10, penalty_for: 1m, penalty_max: 1h30m}
  streams:
    algorithm: concurrency
    limit: 5
    lease: 30s
    penalty_after: 3
    penalty_for: 1s
    penalty_max: 1s
  open: {capacity: 5, refill: 5/1m}
`

// A penalty is written as three fields of any limit, and reads as it was written, in every form of the document.
func TestPenaltyInDocuments(t *testing.T) {
	doc, err := limit.ParseDocument([]byte(guarded))
	if err != nil {
		t.Fatal(err)
	}
	text, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	form, err := doc.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	login := limit.Penalty{After: 10, For: time.Minute, Max: 90 * time.Minute}
	for _, form := range [][]byte{[]byte(guarded), text, form} {
		again, err := limit.ParseDocument(form)
		if err != nil {
			t.Fatalf("%v in\n%s", err, form)
		}
		rule, _ := again.Rule("login")
		streams, _ := again.Rule("streams")
		open, _ := again.Rule("open")
		if rule.Penalty != login || streams.Penalty != (limit.Penalty{After: 3, For: time.Second, Max: time.Second}) || open.Penalty != (limit.Penalty{}) {
			t.Errorf("%+v, %+v and %+v in\n%s", rule.Penalty, streams.Penalty, open.Penalty, form)
		}
		if open.Penalties() != nil || rule.Penalties() == nil || !rule.Penalties().OfPenalties() || rule.OfPenalties() {
			t.Error("which limits have penalties")
		}
		if !slices.Contains(rule.Terms(), "penalty_for 1m") {
			t.Errorf("people read %q", rule.Terms())
		}
		if same, _ := doc.Rule("login"); !same.Equal(rule) {
			t.Error("the same limit is another one")
		}
	}
	var l limit.Limit
	rule, _ := doc.Rule("login")
	data, err := json.Marshal(rule.Limit)
	if err != nil || json.Unmarshal(data, &l) != nil || !reflect.DeepEqual(l, rule.Limit) {
		t.Errorf("%s was read as %+v: %v", data, l, err)
	}
}

func TestWrongPenalties(t *testing.T) {
	for fields, want := range map[string]string{
		"penalty_for: 1m, penalty_max: 1h":                         "penalty_after: is missing",
		"penalty_after: 3, penalty_max: 1h":                        "penalty_for: is missing",
		"penalty_after: 3, penalty_for: 1m":                        "penalty_max: is missing",
		"penalty_after: 1000001, penalty_for: 1m, penalty_max: 1h": "penalty_after: 1000001 is not between 1 and 1000000",
		"penalty_after: -1, penalty_for: 1m, penalty_max: 1h":      "penalty_after: -1 is not between",
		"penalty_after: ten, penalty_for: 1m, penalty_max: 1h":     `penalty_after: "ten" is not a whole number`,
		"penalty_after: 3, penalty_for: 1h, penalty_max: 1m":       "penalty_max: 1m is shorter than penalty_for, 1h",
		"penalty_after: 3, penalty_for: 1h, penalty_max: 25h":      "penalty_max: 25h is not between 1s and 24h",
		"penalty_after: 3, penalty_for: 10ms, penalty_max: 25h":    "penalty_for: 10ms is not between 1s and 24h",
		"penalty_after: 3, penalty_for: soon, penalty_max: 25h":    `penalty_for: "soon" is not a duration`,
		"penalty_after: 3, penalty_for: 1.0001s, penalty_max: 1h":  "penalty_for: 1.0001s is no whole number of milliseconds",
		"penalty: 3": "did you mean",
	} {
		_, err := limit.ParseDocument([]byte("limits:\n  login: {capacity: 5, refill: 1/s, " + fields + "}\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "limits.login.") || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", fields, err)
		}
	}
	own := limit.Limit{Name: "mine", Capacity: 5, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Penalty: limit.Penalty{After: 1, For: time.Second, Max: time.Second}}
	if err := (limit.Request{Key: "k", Limits: []limit.Ref{limit.Inline(own)}}).Validate(); err == nil || !strings.Contains(err.Error(), "limits[0].penalty_after: is for stored limits") {
		t.Errorf("a request's own limit: %v", err)
	}
}

func TestNextPenalty(t *testing.T) {
	p := limit.Penalty{After: 1, For: time.Minute, Max: 10 * time.Minute}
	for _, c := range []struct{ before, since, want time.Duration }{
		{0, 0, time.Minute},
		{time.Minute, 0, 2 * time.Minute},
		{time.Minute, 30 * time.Second, 90 * time.Second},
		{time.Minute, time.Hour, time.Minute},
		{4 * time.Minute, time.Minute, 7 * time.Minute},
		{8 * time.Minute, 0, 10 * time.Minute},
		{10 * time.Minute, 15 * time.Minute, 5 * time.Minute},
	} {
		const ended = int64(1e18)
		if got := p.Next(ended+int64(c.since), c.before, ended); got != c.want {
			t.Errorf("%v after one of %v: %v, want %v", c.since, c.before, got, c.want)
		}
	}
}

// A penalty that another owner has entered lasts longer by as much as two clocks may differ, so it does not end early.
func TestPenaltiesOfOtherOwners(t *testing.T) {
	doc, err := limit.ParseDocument([]byte(guarded))
	if err != nil {
		t.Fatal(err)
	}
	rule, _ := doc.Rule("login")
	const at, late = int64(1e18), int64(5e8)
	l := rule.Penalties().NewLedger(late)
	l.Close(at, rule.Penalty)
	end, lasted := l.ClosedUntil()
	if end != at+int64(time.Minute) || lasted != time.Minute {
		t.Errorf("its own lasts %v, until %v later", lasted, time.Duration(end-at))
	}
	stored := l.Append(nil, limit.OwnerID{1})
	if err := l.Read(stored, limit.OwnerID{2}); err != nil {
		t.Fatal(err)
	}
	if end, lasted = l.ClosedUntil(); end != at+int64(time.Minute)+late || lasted != time.Minute {
		t.Errorf("another owner's lasts %v, until %v later", lasted, time.Duration(end-at))
	}
}

// What a penalty says to people, and what its change does.
func TestPenaltyInWords(t *testing.T) {
	o := limit.Outcome{Name: "login", Allowed: true, Limit: 5, Remaining: 4}
	o.Close(90*time.Second, 1)
	if got := o.Words(); o.Allowed || got != "closed by a penalty for denials in a row; try again in 1m30s" {
		t.Errorf("%+v: %q", o, got)
	}
	look := limit.Outcome{Name: "login", Allowed: true, Limit: 5, Remaining: 4}
	look.Close(90*time.Second, 0)
	if !look.Allowed || look.Remaining != 0 || look.RetryAfter != 0 || look.ResetAfter != 90*time.Second {
		t.Errorf("%+v", look)
	}
	never := limit.Outcome{Name: "login", Never: true}
	if never.Close(time.Second, 9); !never.Never || never.RetryAfter != 0 {
		t.Errorf("%+v", never)
	}
	before, _ := limit.ParseDocument([]byte(guarded))
	after, err := limit.ParseDocument([]byte(strings.NewReplacer("penalty_after: 10, penalty_for: 1m, penalty_max: 1h30m", "wait: 1s", "penalty_after: 3\n", "penalty_after: 4\n").Replace(guarded)))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range limit.Difference(before, after).Effects {
		said = append(said, e.Limit+": "+e.Text)
	}
	for _, want := range []string{
		"login: denials close buckets no more; those that are closed are open",
		"streams: 4 denials in a row close a bucket for 1s, and at most 1s; those that are closed stay so until their time",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("%q is missing in %q", want, said)
		}
	}
}
