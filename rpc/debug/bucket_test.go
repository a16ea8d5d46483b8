package debug

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/plain"
)

// noon is the time of the node clock in these tests.
var noon = conformance.Noon()

func at(d time.Duration) int64 { return noon.Add(d).UnixNano() }

func rule(tb testing.TB, capacity int64, refill string) *limit.Rule {
	tb.Helper()
	r, err := limit.ParseRefill(refill)
	if err != nil {
		tb.Fatal(err)
	}
	compiled, err := limit.Limit{Name: "demo", Capacity: capacity, Refill: r}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}

// busyBucket is one that has everything.
func busyBucket(tb testing.TB) limit.Inspection {
	tb.Helper()
	return limit.Inspection{
		Key: "user:42", Rule: rule(tb, 10, "10/1h"), Now: at(0), Partition: 17, Epoch: 3,
		Owner: limit.OwnerID{0xab}, Node: "n1", Awake: true, Generation: 5,
		TAT: at(44*time.Minute + 30*time.Second), Tokens: 3, Credit: int64(6 * time.Minute),
		Segment: limit.Span{Start: at(44*time.Minute + 30*time.Second), End: at(50 * time.Minute)},
		Next:    limit.Span{Start: at(55 * time.Minute), End: at(58 * time.Minute)},
		Waiting: 2,
		Registers: []limit.Stored{
			{Node: "n1", Epoch: 3, Exists: true, Generation: 5, Reserved: at(58 * time.Minute), Horizon: at(-time.Minute)},
			{Node: "n2", Epoch: 3, Sealed: true, Floor: at(-90 * time.Second)},
			{Node: "n3", Epoch: 2},
			{Node: "n4", Error: "no answer within 1s"},
		},
		Recent: []limit.Recent{
			{At: at(-20 * time.Minute), Cost: 7, Allowed: true},
			{At: at(-3 * time.Second), Cost: 0, Allowed: true},
			{At: at(-12 * time.Millisecond), Cost: 10},
		},
	}
}

// TestBucketPage compares whole pages, as people see them.
func TestBucketPage(t *testing.T) {
	for _, test := range []struct {
		what   string
		bucket func() limit.Inspection
		costs  []int64
		want   string
	}{
		{"busy", func() limit.Inspection { return busyBucket(t) }, []int64{2, 5, 11}, busyPage},
		{"full and asleep", func() limit.Inspection {
			return limit.Inspection{
				Key: "ip:2001:db8::/64", Rule: rule(t, 100, "1000/s"), Now: at(0), Tokens: 100, Epoch: 1, Node: "n1",
				Registers: []limit.Stored{{Node: "n1", Epoch: 1}},
			}
		}, nil, fullPage},
		{"reserved beyond its bound", func() limit.Inspection {
			return limit.Inspection{
				Key: "hot\nkey", Rule: rule(t, 10, "100/s"), Now: at(0), TAT: at(100 * time.Millisecond), Epoch: 1, Node: "n1",
				Awake: true, Segment: limit.Span{Start: at(100 * time.Millisecond), End: at(200 * time.Millisecond)},
				Registers: []limit.Stored{{Node: "n1", Epoch: 1, Exists: true, Reserved: at(200 * time.Millisecond)}},
				Recent:    []limit.Recent{{At: at(0), Cost: 1, Allowed: true}},
			}
		}, nil, beyondPage},
	} {
		t.Run(test.what, func(t *testing.T) {
			var page strings.Builder
			if err := WriteBucket(&page, test.bucket(), test.costs...); err != nil {
				t.Fatal(err)
			}
			if got := page.String(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A bucket that is closed passes nothing, whatever it holds; before that, denials in a row are told.
func TestPageOfAClosedBucket(t *testing.T) {
	in := busyBucket(t)
	guarded := in.Rule.Limit
	guarded.Penalty = limit.Penalty{After: 10, For: time.Minute, Max: time.Hour}
	var err error
	if in.Rule, err = guarded.Rule(); err != nil {
		t.Fatal(err)
	}
	in.Closed, in.Denied = at(5*time.Minute), 0
	for _, want := range []string{
		"closed       by a penalty, until now + 5m (2026-03-01 12:05:00.000000 UTC): every check is denied\n",
		"cost 2       would pass in 5m\n", "cost 5       would pass in 8m30s\n", "penalty_after 10, penalty_for 1m, penalty_max 1h",
	} {
		var page strings.Builder
		if err := WriteBucket(&page, in, 2, 5); err != nil || !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing in\n%s", want, page.String())
		}
	}
	in.Closed, in.Denied = 0, 7
	var page strings.Builder
	if err := WriteBucket(&page, in, 2); err != nil || !strings.Contains(page.String(), "denied       7 in a row: a penalty comes after 10\n") || strings.Contains(page.String(), "closed") {
		t.Errorf("%v:\n%s", err, page.String())
	}
}

// A bucket whose checks may wait says when the next one begins, in words and in JSON, and draws all the line that is spent ahead.
func TestPageOfABucketWithAWait(t *testing.T) {
	queue, err := limit.Limit{Name: "queue", Capacity: 2, Refill: limit.Refill{Tokens: 1, Per: time.Second}, MaxWait: 5 * time.Second}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		begins, tat, closed time.Duration
		says, json          string
	}{
		{0, 0, 0, "wait         a check of one token begins at once; the longest wait is 5s\n", `"begins_ns":"1772366400000000000","begins":"2026-03-01T12:00:00Z"`},
		{2500 * time.Millisecond, 3500 * time.Millisecond, 0, "wait         a check of one token that waits begins in 2.5s; the longest wait is 5s\n", `"begins":"2026-03-01T12:00:02.5Z"`},
		{2500 * time.Millisecond, 3500 * time.Millisecond, 0, "###|\n", `"begins_ns":"1772366402500000000"`},
		{2500 * time.Millisecond, 3500 * time.Millisecond, 0, "can be spent up to here: now + 2s\n", `"tokens":0`},
		{-1, 7 * time.Second, 0, "wait         a check of one token would have to wait longer than 5s: it is denied\n", `"tokens":0`},
		{-1, 0, time.Minute, "closed       by a penalty", `"closed_until"`},
	} {
		in := limit.Inspection{Key: "k", Rule: queue, Now: at(0), TAT: at(test.tat), Begins: at(test.begins), Node: "n1"}
		if test.begins < 0 {
			in.Begins = 0
		}
		if test.closed > 0 {
			in.Closed = at(test.closed)
		}
		var page strings.Builder
		if err := WriteBucket(&page, in); err != nil || !strings.Contains(page.String(), test.says) {
			t.Errorf("%v: %q is missing in\n%s", err, test.says, page.String())
		}
		if test.closed > 0 && strings.Contains(page.String(), "  wait ") {
			t.Errorf("a closed bucket lets no check wait:\n%s", page.String())
		}
		in.Verdict = limit.Denies
		page.Reset()
		if err := WriteBucket(&page, in); err != nil || strings.Contains(page.String(), "  wait ") {
			t.Errorf("%v: where an override denies, no check waits:\n%s", err, page.String())
		}
		in.Verdict = limit.Decides
		text, err := json.Marshal(in)
		if err != nil || !strings.Contains(string(text), test.json) || strings.Contains(string(text), "begins") == (in.Begins == 0) {
			t.Errorf("%v: %s, want %s", err, text, test.json)
		}
	}
}

// The JSON of a bucket says what can be spent of its line, and when a check passes: what draws it needs no arithmetic of the algorithm.
func TestBucketSaysWhenAnotherPasses(t *testing.T) {
	in := busyBucket(t)
	for _, test := range []struct {
		spent time.Duration
		want  string
	}{
		{54 * time.Minute, `"passes_ns":"1772366400000000000","passes":"2026-03-01T12:00:00Z"`},
		{60 * time.Minute, `"passes_ns":"1772366760000000000","passes":"2026-03-01T12:06:00Z"`},
		{60 * time.Minute, `"full_ns":"1772370000000000000","full":"2026-03-01T13:00:00Z"`},
		{60 * time.Minute, `"line":{"start_ns":"1772366400000000000","end_ns":"1772370000000000000"}`},
	} {
		in.TAT, in.Credit = at(test.spent), 0
		text, err := json.Marshal(in)
		if err != nil || !strings.Contains(string(text), test.want) {
			t.Errorf("spent up to %v: %v %s, want %s", test.spent, err, text, test.want)
		}
	}
	in.Closed = at(2 * time.Hour)
	if text, err := json.Marshal(in); err != nil || !strings.Contains(string(text), `"passes":"2026-03-01T14:00:00Z"`) {
		t.Errorf("closed by a penalty: %v %s", err, text)
	}
}

const busyPage = `demo of "user:42", 2026-03-01 12:00:00.000000 UTC

  limit        token-bucket, capacity 10, refill 10/h: a token is 6m of line, an empty bucket is full within 1h
  admits       at most 10 tokens in a burst, and 10/h after it
  tokens now   3 of 10
  window       18m: over this time a client can spread the tokens that are left
  one more     in 2m30s
  full         in 38m30s
  cost 2       would pass now
  cost 5       would pass in 8m30s
  cost 11      can never pass: it is above the capacity

  now                                                                    can be spent up to now + 1h
  |#############################################################oooooooooo=========........====....|
                                                                          |        |           |
                                                                    next segment ends: now + 58m
                                                             segment ends: now + 50m
                                        TAT, spent up to here: now + 44m30s
  # spent   = reserved by this owner, to be spent from memory   o given back   . free

  TAT          now + 44m30s (2026-03-01 12:44:30.000000 UTC)
  segment      5m30s of line, 0 whole tokens, up to now + 50m (2026-03-01 12:50:00.000000 UTC)
  next         3m of line, 0 whole tokens, up to now + 58m (2026-03-01 12:58:00.000000 UTC)
  credit       6m of returned line, to be spent again first
  actor        awake, 2 checks waiting in its mailbox
  owner        ab000000000000000000000000000000 on n1
  place        partition 17, epoch 3, generation 5
  replica 1    n1: generation 5, reserved up to now + 58m (2026-03-01 12:58:00.000000 UTC)
               swept up to now − 1m (2026-03-01 11:59:00.000000 UTC)
  replica 2    n2: no register: full, as far as this replica knows
               sealed: the replica set is changing
               floor now − 1m30s (2026-03-01 11:58:30.000000 UTC)
  replica 3    n3: no register: full, as far as this replica knows
               in epoch 2: not counted until it reaches epoch 3
  replica 4    n4: cannot be read: no answer within 1s

  decisions    now − 12ms  cost 10  denied
               now − 3s    cost 0   allowed, a look
               now − 20m   cost 7   allowed
`

const fullPage = `demo of "ip:2001:db8::/64", 2026-03-01 12:00:00.000000 UTC

  limit        token-bucket, capacity 100, refill 1000/s: a token is 1ms of line, an empty bucket is full within 100ms
  admits       at most 100 tokens in a burst, and 1000/s after it
  tokens now   100 of 100: full
               no replica has a bucket for this key yet, or no longer: full ones are removed
  window       100ms: over this time a client can spread the tokens that are left

  now                                                                 can be spent up to now + 100ms
  |................................................................................................|
  # spent   = reserved by this owner, to be spent from memory   o given back   . free

  TAT          the beginning
  segment      nothing left to spend
  actor        asleep: no check is under way, and its state can be dropped without loss
  owner        00000000000000000000000000000000 on n1
  place        partition 0, epoch 1, generation 0
  replica 1    n1: no register: full, as far as this replica knows

  decisions    none in the actor's memory: it forgets them when the key is idle
`

const beyondPage = `demo of "hot\nkey", 2026-03-01 12:00:00.000000 UTC

  limit        token-bucket, capacity 10, refill 100/s: a token is 10ms of line, an empty bucket is full within 100ms
  admits       at most 10 tokens in a burst, and 100/s after it
  tokens now   0 of 10
  one more     in 10ms
  full         in 100ms
  cost 5       would pass in 50ms

  now                                                                                    now + 200ms
  |################################################================================================|
                                                   |                                               |
                                                   |                       segment ends: now + 200ms
                                                   can be spent up to here: now + 100ms
                                                   TAT, spent up to here: now + 100ms
  # spent   = reserved by this owner, to be spent from memory   o given back   . free

  TAT          now + 100ms (2026-03-01 12:00:00.100000 UTC)
  segment      100ms of line, 10 whole tokens, up to now + 200ms (2026-03-01 12:00:00.200000 UTC)
  actor        awake, 0 checks waiting in its mailbox
  owner        00000000000000000000000000000000 on n1
  place        partition 0, epoch 1, generation 0
  replica 1    n1: generation 0, reserved up to now + 200ms (2026-03-01 12:00:00.200000 UTC)

  decisions    now  cost 1  allowed
`

// TestNoReplicaKnowsTheBucket looks at buckets of which no replica has a register: the page says so, unless a replica that cannot be
// read may have one.
func TestNoReplicaKnowsTheBucket(t *testing.T) {
	const says = "no replica has a bucket for this key yet"
	for _, test := range []struct {
		what      string
		registers []limit.Stored
		want      bool
	}{
		{"no register", []limit.Stored{{Node: "n1"}, {Node: "n2"}}, true},
		{"one register", []limit.Stored{{Node: "n1"}, {Node: "n2", Exists: true}}, false},
		{"one that cannot be read", []limit.Stored{{Node: "n1"}, {Node: "n2", Error: "no answer within 1s"}}, false},
		{"no replica asked", nil, false},
	} {
		in := limit.Inspection{Key: "user:42", Rule: rule(t, 60, "1/s"), Now: at(0), Tokens: 60, Registers: test.registers}
		var page strings.Builder
		if err := WriteBucket(&page, in); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), says); got != test.want {
			t.Errorf("%s: the page says %q: %v, want %v\n%s", test.what, says, got, test.want, page.String())
		}
	}
}

// TestPagesAreNarrow draws any bucket, sensible or not: no page panics, and no line of the drawing is too wide.
func TestPagesAreNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := func(label string) int64 { return at(0) + rapid.Int64Range(-1<<50, 1<<50).Draw(t, label) }
		any64 := func(label string) int64 { return rapid.OneOf(rapid.Int64(), rapid.Just(near(label))).Draw(t, label) }
		refill := limit.Refill{Tokens: rapid.Int64Range(1, 1000).Draw(t, "tokens"), Per: time.Duration(rapid.Int64Range(1000, int64(time.Hour)).Draw(t, "per"))}
		r, err := limittest.Of(rapid.SampledFrom(limit.Spending()).Draw(t, "algorithm"), "demo", rapid.Int64Range(1, 1000).Draw(t, "capacity"), refill).Rule()
		if err != nil {
			t.Fatal(err)
		}
		in := limit.Inspection{
			Key: "k", Rule: r, Now: near("now"), TAT: any64("tat"), Tokens: rapid.Int64Range(0, r.Capacity).Draw(t, "left"),
			Segment: limit.Span{Start: any64("start"), End: any64("end")}, Next: limit.Span{Start: any64("next start"), End: any64("next end")},
			Credit: rapid.Int64Range(0, 1<<50).Draw(t, "credit"),
		}
		cells := rapid.IntRange(leastWidth-beside, barWidth).Draw(t, "cells")
		drawn := draw(in, cells)
		for _, line := range drawn[:len(drawn)-1] { // the last one is the legend
			if width := utf8.RuneCountInString(line); width > cells+2 {
				t.Errorf("%d characters: %s", width, line)
			}
		}
		if err := WriteBucket(new(strings.Builder), in, 0, 1, math.MaxInt64); err != nil {
			t.Error(err)
		}
	})
}

// TestPagesOfEveryAlgorithm expects that a page says of a limit what its algorithm says, and nothing that is true of token buckets only.
func TestPagesOfEveryAlgorithm(t *testing.T) {
	for _, algorithm := range limit.Spending() {
		t.Run(algorithm, func(t *testing.T) {
			r, err := limittest.Of(algorithm, "demo", 10, limit.Refill{Tokens: 10, Per: time.Hour}).Rule()
			if err != nil {
				t.Fatal(err)
			}
			now := at(10 * time.Minute)
			tat, admitted := r.Decide(limit.Pos{}, now, 7)
			if !admitted {
				t.Fatal("a full bucket admits nothing")
			}
			in := limit.Inspection{Key: "k", Rule: r, Now: now, TAT: tat.Ceil(), Tokens: r.Tokens(tat, now)}
			var page strings.Builder
			if err := WriteBucket(&page, in); err != nil {
				t.Fatal(err)
			}
			envelope := r.Envelope()
			for _, want := range []string{
				algorithm + ", " + strings.Join(r.Terms(), ", ") + ": ",
				"an empty bucket is full within " + plain.Duration(r.Fill()),
				fmt.Sprintf("at most %d tokens in a burst, and %s after it", envelope.Burst, envelope.Refill),
				"window       " + plain.Duration(r.Window(in.Tokens, r.Outcome(tat, now, 7, tat, true).ResetAfter)) + ": ",
				"can be spent up to now + " + plain.Duration(time.Duration(r.Bound(now).NS-now)),
			} {
				if !strings.Contains(page.String(), want) {
					t.Errorf("%q is missing in\n%s", want, page.String())
				}
			}
			for _, other := range []string{"τ", "a token every"} {
				if strings.Contains(page.String(), other) {
					t.Errorf("%q is true of token buckets only:\n%s", other, page.String())
				}
			}
			bar := draw(in, barWidth)[1]
			length := r.Bound(now).NS - now
			for what, want := range map[string]int64{"#": in.TAT - r.Begin(now), ".": r.Bound(now).NS - in.TAT} {
				if got := int64(strings.Count(bar, what)); got < want*barWidth/length-1 || got > want*barWidth/length+1 {
					t.Errorf("%d of %d cells are %s, for %v of %v:\n%s", got, barWidth, what, time.Duration(want), time.Duration(length), page.String())
				}
			}
		})
	}
}

// A fullDisk takes so many bytes and no more.
type fullDisk int

func (f *fullDisk) Write(p []byte) (int, error) {
	if *f -= fullDisk(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestPageToNowhere(t *testing.T) {
	for _, room := range []fullDisk{0, 100, 1000} {
		if err := WriteBucket(&room, busyBucket(t)); err != errFull { //nolint:errorlint // that very error
			t.Errorf("got %v, want %v", err, errFull)
		}
	}
}
