package limit_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The holds of a ledger are seen by its owner, and by others a little longer: the newest first, and no more than a hundred of them.
func TestSeeHoldsOfALedger(t *testing.T) {
	const late, now = int64(time.Second), int64(1_800_000_000_000_000_000)
	writer, other := limit.OwnerID{1}, limit.OwnerID{2}
	rule := ruleOf(t, limit.Limit{Name: "l", Algorithm: limit.FixedWindow, Capacity: 1000, Window: time.Hour, Holds: limit.Holds{Longest: time.Minute}})
	l := rule.NewLedger(late)
	for id := uint64(1); id <= 120; id++ {
		l.Hold(now, 5, id, now+int64(id)*int64(time.Second), true)
	}
	l.Settle(now, limit.HoldChange{ID: 119, Used: 7, Open: true}, limit.MaxCount)
	l.Settle(now, limit.HoldChange{ID: 120, Used: 2}, limit.MaxCount)
	at := now + 20*int64(time.Second)
	text := l.Append(nil, writer)
	in := limit.Inspection{Rule: rule, Now: at, Ledger: text, Owner: writer, Late: late}
	mine, err := in.Counted()
	if err != nil {
		t.Fatal(err)
	}
	in.ShowLedger(mine)
	seen := in.Holds
	if seen.Open != 99 || seen.Tokens != 98*5+7 || seen.Total != 120 || seen.Expires != now+21*int64(time.Second) || len(seen.List) != limit.MaxHoldsSeen {
		t.Errorf("%d of %d open, with %d tokens, until %d; %d listed", seen.Open, seen.Total, seen.Tokens, seen.Expires-now, len(seen.List))
	}
	for i, want := range []limit.SeenHold{
		{ID: limit.SeenID(120), State: limit.HoldSettled, Amount: 5, Used: 2, Until: now},
		{ID: limit.SeenID(119), State: limit.HoldOpen, Amount: 5, Used: 7, Until: now + 119*int64(time.Second)},
		{ID: limit.SeenID(118), State: limit.HoldOpen, Amount: 5, Until: now + 118*int64(time.Second)},
	} {
		if seen.List[i] != want {
			t.Errorf("%d: %+v, want %+v", i, seen.List[i], want)
		}
	}
	if in.Tokens != 1000-98*5-7-2 || in.Debt != 0 {
		t.Errorf("%d tokens are left, %d in debt", in.Tokens, in.Debt)
	}

	theirs := rule.NewLedger(late)
	if err := theirs.Read(text, other); err != nil {
		t.Fatal(err)
	}
	if seen := theirs.SeeHolds(at); seen.Open != 100 || seen.Expires != at+int64(time.Second) {
		t.Errorf("another owner sees %d open, until %v", seen.Open, time.Duration(seen.Expires-at))
	}
}

// What was charged beyond the limit is debt. A limit without holds shows none, unless some were taken before.
func TestShowLedger(t *testing.T) {
	const now = int64(1_800_000_000_000_000_000)
	window := limit.Limit{Name: "l", Algorithm: limit.FixedWindow, Capacity: 10, Window: time.Hour}
	plain := ruleOf(t, window)
	window.Holds.Longest = time.Minute
	with := ruleOf(t, window)
	empty, used := with.NewLedger(0), with.NewLedger(0)
	used.Hold(now, 8, 1, now+int64(time.Minute), false)
	used.Settle(now, limit.HoldChange{ID: 1, Used: 15}, limit.MaxCount)
	for _, test := range []struct {
		rule         *limit.Rule
		ledger       *limit.Ledger
		known        bool
		tokens, debt int64
	}{{plain, empty, false, 10, 0}, {with, empty, true, 10, 0}, {with, used, true, 0, 5}, {plain, used, true, 0, 5}} {
		in := limit.Inspection{Rule: test.rule, Now: now}
		in.ShowLedger(test.ledger)
		if (in.Holds != nil) != test.known || in.Tokens != test.tokens || in.Debt != test.debt {
			t.Errorf("%+v, want %+v", in, test)
		}
	}
}

// The JSON form names holds by digests of their ids.
func TestHoldsSeenAsJSON(t *testing.T) {
	rule := ruleOf(t, limit.Limit{Name: "l", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute}})
	fields := func(in limit.Inspection) map[string]any {
		t.Helper()
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]any{}
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	in := limit.Inspection{Rule: rule}
	if all := fields(in); all["holds"] != nil || all["debt"] != nil {
		t.Errorf("of nothing: %v", all)
	}
	seen := limit.SeeHolds(1, func(int) (limit.SeenHold, int64) {
		return limit.SeenHold{ID: 7, State: limit.HoldOpen, Amount: 5, Used: 1, Until: 2_000_000_000}, 5
	})
	in.Holds, in.Debt = seen, 3
	all := fields(in)
	want := map[string]any{
		"open": 1.0, "tokens": 5.0, "total": 1.0, "expires_ns": "2000000000", "expires": "1970-01-01T00:00:02Z", "list": []any{map[string]any{
			"id": seen.List[0].Name(), "state": "open", "amount": 5.0, "used": 1.0, "until_ns": "2000000000", "until": "1970-01-01T00:00:02Z",
		}},
	}
	if !reflect.DeepEqual(all["holds"], want) || all["debt"] != 3.0 {
		t.Errorf("got %v, %v", all["holds"], all["debt"])
	}
	if name := seen.List[0].Name(); len(name) != 16 || name == "0000000000000007" {
		t.Errorf("the hold is named %q: whoever reads that could settle it", name)
	}
	in.Holds = limit.SeeHolds(0, nil)
	want = map[string]any{"open": 0.0, "tokens": 0.0, "total": 0.0, "list": []any{}}
	if all := fields(in); !reflect.DeepEqual(all["holds"], want) {
		t.Errorf("of none: %v", all["holds"])
	}
}
