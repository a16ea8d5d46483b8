package debug

import (
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// heldBucket is one of a limit that takes holds, and that spends a line or counts entries.
func heldBucket(tb testing.TB, algorithm string, seen *limit.HoldsSeen) limit.Inspection {
	tb.Helper()
	l := limit.Limit{Name: "tokens", Algorithm: algorithm, Capacity: 100, Holds: limit.Holds{Longest: time.Minute}}
	if algorithm == limit.FixedWindow {
		l.Window = time.Hour
	} else {
		l.Refill = limit.Refill{Tokens: 1, Per: time.Second}
	}
	r, err := l.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return limit.Inspection{Key: "user:42", Rule: r, Now: at(0), Tokens: 40, Node: "n1", Holds: seen}
}

var threeHolds = &limit.HoldsSeen{Open: 1, Tokens: 50, Expires: at(41 * time.Second), Total: 104, List: []limit.SeenHold{
	{ID: 1<<60 + 1, State: limit.HoldOpen, Amount: 50, Used: 10, Until: at(41 * time.Second)},
	{ID: 2, State: limit.HoldExpired, Amount: 6, Until: at(-20 * time.Second)},
	{ID: 3, State: limit.HoldSettled, Amount: 10, Used: 4, Until: at(30 * time.Second)},
	{ID: 4, State: limit.HoldLost, Amount: 10, Used: 10, Until: at(-time.Second)},
}}

const threeHoldsPage = `hold              state    held  used  expires in
1000000000000001  open     50    10    41s
0000000000000002  expired  6     0     20s ago
0000000000000003  settled  10    4     –
0000000000000004  lost     10    10    –
and 100 older ones

tokens: 50 tokens held by 1 open hold, the first expires in 41s; 103 more expired, settled or lost
tokens: 20 tokens more were charged than the bucket had
where a gateway counts money by this limit, a token is a millionth of the unit of its prices
`

// TestWriteHolds compares the tables of jeton holds, and what the page of the bucket says in a line.
func TestWriteHolds(t *testing.T) {
	three := heldBucket(t, "", threeHolds)
	three.Debt = 20
	none, unknown := heldBucket(t, limit.FixedWindow, &limit.HoldsSeen{}), heldBucket(t, "", nil)
	never, gone, unasked, unseen := unknown, unknown, unknown, none
	never.Registers = []limit.Stored{{Node: "n1"}, {Node: "n2"}}
	gone.Registers = []limit.Stored{{Node: "n1", Exists: true}, {Node: "n2"}}
	unasked.Registers = []limit.Stored{{Node: "n1"}, {Node: "n2", Error: "no answer"}}
	unseen.Registers = never.Registers
	over := heldBucket(t, limit.FixedWindow, &limit.HoldsSeen{Total: 1, List: threeHolds.List[2:3]})
	without := busyBucket(t)
	for _, test := range []struct {
		what  string
		in    limit.Inspection
		table string
		page  []string
	}{
		{"many", three, threeHoldsPage, []string{
			"  holds        50 tokens held by 1 open hold, the first expires in 41s; 103 more expired, settled or lost\n",
			"  debt         20 tokens more were charged than the bucket had\n",
		}},
		{"none", none, "tokens: none\n", []string{"  holds        none\n", "  entries      none: nothing that was admitted counts any more\n"}},
		{"none open", over, "tokens: none is open; 1 expired, settled or lost\n", []string{"  holds        none is open; 1 expired, settled or lost\n", "  entries      none: nothing that was admitted counts any more\n"}},
		{"not known", unknown, "tokens: not known: they are in the memory of the owner that took them, and the one at n1 has none of this key", []string{"  holds        not known: "}},
		{"of an owner that is gone", gone, "the one at n1 has none of this key; the key was used: its owner is gone, or has let the bucket go\n", []string{"  holds        not known: "}},
		{"of a key of which not all could be asked", unasked, "the one at n1 has none of this key\n", []string{"  holds        not known: "}},
		{"of a key that was never seen", never, "tokens: nothing is known of this key: no check has asked for it, or its bucket has filled up since and was removed\n", []string{"  holds        not known: "}},
		{"none, of a key that was never seen", unseen, "tokens: nothing is known of this key: no check has asked for it", []string{"  holds        none\n"}},
		{"takes none", without, "limit demo takes no holds: the field hold of the limit says how long one may last\n", nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			var table, page strings.Builder
			if err := WriteHolds(&table, test.in); err != nil || !strings.Contains(table.String(), test.table) {
				t.Errorf("%v, got\n%s\nwant\n%s", err, table.String(), test.table)
			}
			if err := WriteBucket(&page, test.in); err != nil {
				t.Fatal(err)
			}
			for _, line := range test.page {
				if !strings.Contains(page.String(), line) {
					t.Errorf("%q is missing in\n%s", line, page.String())
				}
			}
			if test.page == nil && strings.Contains(page.String(), "hold") {
				t.Errorf("the page speaks of holds:\n%s", page.String())
			}
		})
	}
}
