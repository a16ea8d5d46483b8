package owner_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// rules that share a name, as one limit has them that is changed now and then.
var changing = []struct {
	capacity, tokens int64
	per              time.Duration
}{
	{10, 1, time.Second},
	{3, 1, time.Second},
	{10, 3, 10 * time.Nanosecond},
	{1, 7, time.Minute},
	{1000, 700_000_000, time.Second},
	{50, 5, time.Hour},
	{2, 1, 24 * time.Hour},
}

// drawRule draws a rule, of which nothing is reserved but what checks need if it is exact.
func drawRule(t *rapid.T, exact bool) *limit.Rule {
	r := rapid.SampledFrom(changing).Draw(t, "rule")
	if exact {
		return mustExact(t, "login", r.capacity, r.tokens, r.per)
	}
	return mustRule(t, "login", r.capacity, r.tokens, r.per)
}

// A textbook is the bucket as a single line of arithmetic decides it, in memory that is never lost: all that an owner
// may add to it are returns, which take effect as long as the bucket has not been full since.
type textbook struct {
	rule    *limit.Rule
	tat     limit.Pos
	stretch int
}

// look is what every check that is not denied does first: a line that has passed begins anew. If the check has a cost, or
// takes the owner's line beyond its end hi, that ends the stretch.
func (b *textbook) look(t, cost, hi int64) {
	if !b.tat.After(limit.At(t)) && (cost > 0 || t > hi) {
		b.stretch++
	}
	b.tat = limit.Later(b.tat, limit.At(t))
}

// giveBack takes back an admission of that length and says whether that is of any use.
func (b *textbook) giveBack(length limit.Pos, now int64) bool {
	if !b.tat.After(limit.At(now)) {
		return false
	}
	b.tat = limit.Later(limit.At(now), b.rule.Sub(b.tat, length))
	return true
}

// An entry is an admission, as its holder remembers it.
type entry struct {
	receipt limit.Receipt
	length  limit.Pos
	stretch int
	back    bool
}

// diary is a random life of one owner, and of the textbook beside it.
type diary struct {
	*stage
	t       *rapid.T
	book    textbook
	entries []entry
}

func newDiary(t *rapid.T, busy int, exact bool) *diary {
	d := &diary{stage: alone(t), t: t, book: textbook{rule: drawRule(t, exact)}}
	d.cfg.Busy = busy
	return d
}

func (d *diary) sleep() {
	length := d.book.rule.Length(1).Ceil()
	d.pass(rapid.OneOf(
		rapid.Just(int64(0)),
		rapid.Int64Range(0, length),
		rapid.Int64Range(0, d.book.rule.Reach()),
		rapid.Int64Range(0, 2*d.book.rule.Reach()),
	).Draw(d.t, "pass"))
}

func (d *diary) drawCost() int64 {
	return rapid.OneOf(
		rapid.Just(int64(1)),
		rapid.Int64Range(0, min(d.book.rule.Capacity, 5)),
		rapid.Int64Range(0, d.book.rule.Capacity+1),
	).Draw(d.t, "cost")
}

// decide makes a check and says what the owner and the textbook say.
func (d *diary) decide(cost int64) (got limit.Decision, want bool) {
	d.t.Helper()
	before, _ := d.owner.View("login", d.now)
	got = d.decision(d.check(cost, d.book.rule))
	next, want := d.book.rule.Decide(d.book.tat, d.now, cost)
	if !got.Allowed {
		return got, want
	}
	d.book.look(d.now, cost, before.Hi)
	if cost > 0 {
		d.book.tat = limit.Later(d.book.tat, next)
		d.entries = append(d.entries, entry{receipt: got.Receipts[0], length: d.book.rule.Length(cost), stretch: d.book.stretch})
		d.weigh(got.Receipts[0], cost)
	}
	return got, want
}

// change puts another rule in force, from the next check on. Line that was returned under other numbers is given up.
func (d *diary) change(rule *limit.Rule) {
	if v, ok := d.owner.View("login", d.now); ok && (rule.Capacity != d.book.rule.Capacity || rule.Refill != d.book.rule.Refill) {
		d.book.tat = v.TAT
		d.book.stretch++
	}
	d.book.tat = rule.Carry(d.book.rule, d.book.tat)
	d.book.rule = rule
}

// weigh asserts that a receipt proves its cost: a nanosecond may be missing or too much for each piece of line.
func (d *diary) weigh(r limit.Receipt, cost int64) {
	d.t.Helper()
	length, pieces := r.End-r.Start, int64(1+len(r.Reuses))
	for _, p := range r.Reuses {
		length += p.End - p.Start
	}
	if want := d.book.rule.Length(cost).NS; length < want-pieces || length > want+pieces {
		d.t.Fatalf("the receipt %+v proves %d ns, a cost of %d is %d", r, length, cost, want)
	}
}

// bringBack returns some receipt and compares what that does.
func (d *diary) bringBack(exact bool) {
	if len(d.entries) == 0 {
		return
	}
	e := &d.entries[rapid.IntRange(max(len(d.entries)-5, 0), len(d.entries)-1).Draw(d.t, "receipt")]
	got := d.owner.Return(e.receipt, d.now, &d.out)
	switch {
	case !exact && got:
		d.book.giveBack(e.length, d.now)
	case exact:
		want := !e.back && e.stretch == d.book.stretch && d.book.giveBack(e.length, d.now)
		if got != want {
			d.t.Fatalf("returning %+v took effect is %v, want %v", e, got, want)
		}
	}
	if got && e.back {
		d.t.Fatalf("returning %+v took effect twice", e)
	}
	e.back = true
}

// One owner with one replica and a key that is not busy is the textbook, to the token and the nanosecond: in what it
// decides, in what it says remains, and in which returns take effect. What it has reserved ahead is given up when the limit changes.
func TestOneOwnerIsTheTextbook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exact := rapid.Bool().Draw(t, "exact")
		d := newDiary(t, math.MaxInt32, exact)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1:
				d.sleep()
			case 2:
				d.bringBack(true)
			case 3:
				d.done(d.reset(d.book.rule))
				d.book.tat = limit.At(d.now)
				d.book.stretch++
			case 4:
				if exact {
					d.change(drawRule(t, exact)) // it takes effect with the check that follows
				}
				fallthrough
			default:
				cost := d.drawCost()
				before := d.book.tat
				got, want := d.decide(cost)
				if got.Allowed != want {
					t.Fatalf("a check of %d is admitted is %v, the textbook says %v: bucket at %v of %+v", cost,
						got.Allowed, want, before, d.book.rule)
				}
				end := d.book.rule.End(before, d.now, d.book.rule.Length(cost))
				wantOutcome := d.book.rule.Outcome(d.book.tat, d.now, cost, end, want)
				if got.Limits[0] != wantOutcome {
					t.Fatalf("a check of %d says %+v, the textbook %+v", cost, got.Limits[0], wantOutcome)
				}
			}
		}
	})
}

// Whatever dies, and however far ahead a busy key reserves: what is admitted, the textbook admits.
func TestOneOwnerIsNeverLooser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		busy := rapid.SampledFrom([]int{0, 2, 16, math.MaxInt32}).Draw(t, "busy")
		exact := rapid.Bool().Draw(t, "exact")
		d := newDiary(t, busy, exact)
		for life := byte(1); life < 100; life++ {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1:
				d.sleep()
			case 2:
				d.bringBack(false)
			case 3:
				next := d.enter(life)
				next.quick, next.cfg.Busy = d.quick, busy
				d.stage = next
			default:
				for range rapid.IntRange(1, 20).Draw(t, "burst") {
					cost := d.drawCost()
					if got, want := d.decide(cost); got.Allowed && !want {
						t.Fatalf("a check of %d is admitted, and the textbook denies it: bucket at %v", cost, d.book.tat)
					}
				}
			}
		}
	})
}
