package owner

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// perSecond is a rule with a token a second, and so a reach of capacity seconds.
func perSecond(t *testing.T, capacity int64) *limit.Rule {
	t.Helper()
	rule, err := limit.Limit{Name: "api", Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// Of what is reserved and not spent, a shorter rule leaves what could have been reserved under it at the time: replicas that
// forgot would take the rest for free. What is spent stays spent.
func TestShorterRuleGivesUpWhatLiesTooFar(t *testing.T) {
	const second = int64(time.Second)
	const start = 1000 * second
	long, short := perSecond(t, 100), perSecond(t, 50)
	over := int64(stretchOf(52*second)-stretchOf(50*second+DefaultDelta)) * stretchUnit
	for name, tt := range map[string]struct {
		to    int64 // of a segment that is asked for at start
		spent int64
		want  int64 // up to where it is held afterwards
	}{
		"near":             {to: start + 50*second, spent: start + 10*second, want: start + 50*second},
		"too far":          {to: start + 52*second, spent: start + 10*second, want: start + 52*second - over},
		"too far, and all": {to: start + 52*second, spent: start + 52*second, want: start + 52*second},
	} {
		cfg := &Config{Replicas: 3, Delta: DefaultDelta}
		out := &Out{}
		b := &bucket{rule: long}
		b.startReplication(out).next = segment{tt.to + second, tt.to + 2*second}
		p := &pending{Send: Send{From: start, To: tt.to}, askedAt: start}
		b.extend(segment{p.From, p.To}, p.far(), 0)
		b.tat = limit.At(tt.spent)
		b.replication().nextFar = p.far()
		b.forgetReplicas() // as where the partition moves
		b.change(short, cfg)
		if b.held.to != tt.want || b.tat != limit.At(tt.spent) {
			t.Errorf("%s: held up to %d, spent up to %v, want %d and %d", name, b.held.to, b.tat, tt.want, tt.spent)
		}
		b.change(long, cfg)
		b.change(short, cfg)
		if b.held.to != tt.want {
			t.Errorf("%s: to and fro, held up to %d, want %d still", name, b.held.to, tt.want)
		}
		gone := tt.to > start+51*second
		if got := b.replication().next == (segment{}); got != gone {
			t.Errorf("%s: the next segment is given up: %v", name, got)
		}
		more := &pending{Send: Send{From: tt.to, To: tt.to + second/20, Reach: long.Reach()}, askedAt: start}
		b.startReplication(out).pending = more
		New(cfg, limit.OwnerID{}, 1).take(b, more, out)
		if got := b.held.to != more.To; got != gone {
			t.Errorf("%s: the reservation under way is given up: %v", name, got)
		}
	}
}

// Whatever plan is asked for, a floor keeps what the longest one can have reserved, and so nothing is given up from plan to plan.
func TestPlansShareWhatIsReserved(t *testing.T) {
	const second = int64(time.Second)
	const start = 1000 * second
	doc, err := limit.ParseDocument([]byte("limits: {api: {capacity: 50, refill: 1/s, plans: {short: {capacity: 5}, long: {capacity: 100}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	own, _ := doc.Rule("api")
	short, _ := doc.Plan("api", "short")
	long, _ := doc.Plan("api", "long")
	cfg := &Config{Replicas: 3, Delta: DefaultDelta}
	b := &bucket{rule: long.Rule}
	p := &pending{Send: Send{From: start, To: start + 100*second}, askedAt: start}
	b.extend(segment{p.From, p.To}, p.far(), 0)
	b.tat = limit.At(start)
	for _, rule := range []*limit.Rule{short.Rule, own, long.Rule, short.Rule} {
		if b.change(rule, cfg); b.held.to != p.To {
			t.Errorf("under a capacity of %d it is held up to %d, want %d", rule.Capacity, b.held.to, p.To)
		}
	}
}

// What is left of a far segment stays far when a near one is added to it, and no longer.
func TestHeldLineIsAsFarAsItsFarthest(t *testing.T) {
	b := &bucket{rule: perSecond(t, 100)}
	b.startReplication(&Out{})
	b.extend(segment{0, 10}, 7, 0)
	b.extend(segment{10, 20}, 3, 0)
	if b.far != 7 {
		t.Errorf("far is %d, want 7 while some of the first is left", b.far)
	}
	b.tat = limit.At(20)
	b.extend(segment{20, 30}, 3, 0)
	if b.far != 3 {
		t.Errorf("far is %d, want 3 when all before is spent", b.far)
	}
}

// A rest keeps how far ahead its line lay, and whether some is of an older segment: a shorter rule gives up as much of it as of the line of
// an owner that stayed awake.
func TestShorterRuleGivesUpAsMuchOfARest(t *testing.T) {
	const second = int64(time.Second)
	const start = 1000 * second
	long, short := perSecond(t, 100), perSecond(t, 50)
	cfg := &Config{Replicas: 3, Delta: DefaultDelta}
	gaveUp := 0
	for _, far := range []int64{40 * second, 52 * second, 70 * second} {
		for _, from := range []int64{start, start + 20*second, start + 30*second} {
			for _, tat := range []limit.Pos{limit.At(start + 10*second), limit.At(start + 20*second), {NS: start + 30*second - 1, Frac: 1}} {
				o := New(cfg, limit.OwnerID{1}, 1)
				o.bucket = bucket{rule: long, gen: 7, tat: tat, held: segment{from, start + 60*second}, far: stretchOf(far)}
				rest, ok := o.Rest(start)
				if !ok {
					t.Fatal("there is no rest")
				}
				other := New(cfg, limit.OwnerID{1}, 1)
				other.Restore(rest, start)
				awake, restored := &o.bucket, &other.bucket
				awake.change(short, cfg)
				restored.change(short, cfg)
				if awake.held.to != restored.held.to || awake.tat != restored.tat || awake.gen != restored.gen {
					t.Errorf("far %d, from %d, tat %v: awake it holds up to %d, restored up to %d", far, from, tat, awake.held.to, restored.held.to)
				}
				if awake.held.to < start+60*second {
					gaveUp++
				}
			}
		}
	}
	if gaveUp == 0 {
		t.Error("nothing was given up")
	}
}

// What was spent lately is kept with two digits, for as long as it matters.
func TestFaintLoad(t *testing.T) {
	const second = int64(time.Second)
	const now = 1_700_000_000 * second
	for _, lately := range []float32{0, 1, 1e6, 3.7e12} {
		for _, ago := range []int64{0, second / 10, second, 7 * second, 60 * second, 600 * second} {
			for _, older := range []bool{false, true} {
				was := load{line: 5, lately: lately, at: now - ago}
				f := faintOf(&was, older)
				is := f.load(now)
				if (f&faintOlder != 0) != older {
					t.Errorf("older is %v", !older)
				}
				if is.at > was.at || is.at < was.at-second/3 || is.lately > was.lately || is.lately < was.lately*0.99 {
					t.Errorf("%+v is %+v", was, is)
				}
				if got, want := is.soon(now), was.soon(now); got > want || got < 0.9*want-0.05*lately {
					t.Errorf("%+v foresees %v, want %v", was, got, want)
				}
			}
		}
	}
}

// Of what was written in vain an owner forgets the oldest, whether it has an id or not, and nothing that a check is to be given.
func TestWhatWasWrittenInVainHasABound(t *testing.T) {
	for _, id := range []uint64{0, 1} {
		var l ledger
		for i := range 2 * maxKept {
			l.rooms = append(l.rooms, room{id: id, at: int64(i), since: noCheck})
		}
		l.rooms[0].since = 0
		l.keepTaken()
		if n := len(l.rooms); n != maxKept || l.rooms[0].at != 0 || l.rooms[1].at <= 1 || l.rooms[n-1].at != 2*maxKept-1 {
			t.Errorf("of %d, %d are left: the first two of %d and %d, the last of %d", 2*maxKept, n, l.rooms[0].at, l.rooms[1].at, l.rooms[n-1].at)
		}
	}
}
