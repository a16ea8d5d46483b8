package owner_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
	hour   = int64(time.Hour)
	start  = 1_700_000_000 * second // when every story begins
)

// A reporter is what a story needs of a test, whichever kind of test it is.
type reporter interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func mustRule(tb reporter, name string, capacity, tokens int64, per time.Duration) *limit.Rule {
	tb.Helper()
	rule, err := limit.Limit{Name: name, Capacity: capacity, Refill: limit.Refill{Tokens: tokens, Per: per}}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

// mustExact is mustRule for a limit of which nothing is reserved but what checks need.
func mustExact(tb reporter, name string, capacity, tokens int64, per time.Duration) *limit.Rule {
	tb.Helper()
	l := mustRule(tb, name, capacity, tokens, per).Limit
	l.Reserve = limit.ReserveExact
	rule, err := l.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

// A replica is the production steps of a replica, and the registers that it keeps in memory.
type replica struct {
	partition register.Partition
	registers map[string]register.Register // by limit
	skew      int64                        // of its clock, against the stage's
	writes    int
}

func (r *replica) reserve(m register.Reservation, now int64, b register.Bounds) register.Answer {
	after, a, write := r.partition.Reserve(r.registers[m.Limit], m, now+r.skew, b)
	if write {
		r.registers[m.Limit] = after
		r.writes++
	}
	return a
}

// amnesia loses every register and sets the floor that a replica sets which has lost its disk.
func (r *replica) amnesia(now int64, b register.Bounds) {
	r.registers = map[string]register.Register{}
	r.partition.Floored, r.partition.Floor = true, now+b.EpsMax
}

// understood is what a replica's answer means to an owner.
func understood(a register.Answer, replica int, m register.Reservation) owner.Answer {
	return owner.Answer{
		Replica: replica, Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch,
		Verdict: owner.VerdictOf(a.Verdict), Position: a.Position, Generation: a.Generation,
		Version: a.Version, Ledger: a.Ledger, Floored: a.Floored,
	}
}

// A troupe is what the owners of a story share: the clock, which only the story moves, and the replicas of their key.
type troupe struct {
	tb       reporter
	now      int64
	bounds   register.Bounds
	replicas []*replica
	tags     int
}

// tag is a number for the next check or reset.
func (tr *troupe) tag() int {
	tr.tags++
	return tr.tags
}

func newTroupe(tb reporter, replicas int) *troupe {
	tr := &troupe{tb: tb, now: start, bounds: register.DefaultBounds()}
	for range replicas {
		tr.replicas = append(tr.replicas, &replica{registers: map[string]register.Register{}})
	}
	return tr
}

// A stage is one owner, and everything that it says. Replicas in quick answer as soon as they are asked; to the others
// nothing is delivered but by the story.
type stage struct {
	*troupe
	cfg     *owner.Config
	owner   *owner.Owner
	name    limit.OwnerID
	seq     uint64
	ahead   int64 // of the true time, its clock
	quick   []int
	post    []register.Reservation // sent, and not delivered by the story
	sent    []owner.Send           // ever
	answers []owner.Reply          // ever
	expired []*limit.Rule          // ever: see [owner.Out]
	out     owner.Out
	draws   []int64 // what Rand was asked
	draw    int64   // what it answers, as far as it may
	since   int64   // the clock of the last step
	before  int     // how much had been sent before that time
}

// enter brings an owner of that name onto the stage.
func (tr *troupe) enter(name byte) *stage {
	s := &stage{troupe: tr, name: limit.OwnerID{name}}
	s.cfg = &owner.Config{
		Replicas: len(tr.replicas), Delta: owner.DefaultDelta, Busy: 4, Slack: tr.bounds.Slack(), Late: 2 * tr.bounds.EpsMax,
		ReturnFor: owner.DefaultReturnFor,
		NextSeq:   func() uint64 { s.seq++; return s.seq },
		Nonce:     rand.Uint64,
		Rand:      func(n int64) int64 { s.draws = append(s.draws, n); return min(s.draw, n-1) },
	}
	if len(tr.replicas) > 1 {
		s.cfg.Resend = 20 * ms
	}
	s.owner = owner.New(s.cfg, s.name, 0)
	return s
}

// alone is one owner with one replica that answers at once.
func alone(tb reporter) *stage {
	s := newTroupe(tb, 1).enter('A')
	s.quick = []int{0}
	return s
}

// clock is what the owner's clock shows.
func (s *stage) clock() int64 { return s.now + s.ahead }

// after takes up what a step has put out.
func (s *stage) after() {
	if s.clock() != s.since {
		s.since, s.before = s.clock(), len(s.sent)
	}
	if len(s.sent) > s.before+1000 {
		s.tb.Fatalf("the owner sends without end: %+v", s.sent[len(s.sent)-3:])
	}
	for _, v := range s.owner.Views(s.clock()) {
		if v.TAT.Ceil() > v.Hi {
			s.tb.Fatalf("line is spent up to %v, and reserved up to %d only", v.TAT, v.Hi)
		}
	}
	s.answers, s.expired = append(s.answers, s.out.Replies...), append(s.expired, s.out.Expired...)
	sends := append([]owner.Send(nil), s.out.Sends...)
	s.out.Reset()
	for _, m := range sends {
		s.sent = append(s.sent, m)
		r := register.Reservation{
			Writer: register.Writer(s.name), Seq: m.Seq, Epoch: m.Epoch, Now: s.clock(), Limit: m.Limit,
			Generation: m.Generation, From: m.From, To: m.To, Reach: m.Reach, Lead: m.Lead,
			Claim: m.Claim, Ledger: m.Ledger, Expire: m.Expire,
		}
		s.post = append(s.post, r)
		for _, i := range s.quick {
			s.bring(r, i)
		}
	}
}

// bring delivers m to a replica, as quickly as if it had been sent just now, and its answer to the owner.
func (s *stage) bring(m register.Reservation, replica int) {
	m.Now = s.clock()
	s.hear(understood(s.replicas[replica].reserve(m, s.now, s.bounds), replica, m))
}

func (s *stage) hear(a owner.Answer) {
	s.owner.Answer(a, s.clock(), &s.out)
	s.after()
}

// deliver brings what was sent last to those replicas.
func (s *stage) deliver(replicas ...int) {
	s.tb.Helper()
	if len(s.post) == 0 {
		s.tb.Fatal("there is nothing to deliver")
	}
	m := s.post[len(s.post)-1]
	for _, i := range replicas {
		s.bring(m, i)
	}
}

// check makes a check and says its number, by which the story asks after it.
func (s *stage) check(cost int64, rules ...*limit.Rule) int { return s.checkBy(hour, cost, rules...) }

// checkBy makes a check that has only so much time.
func (s *stage) checkBy(patience, cost int64, rules ...*limit.Rule) int {
	tag := s.tag()
	s.owner.Check(owner.Check{
		Tag: tag, At: s.clock(), Deadline: s.clock() + patience, Rules: rules, Cost: cost, Receipts: true,
	}, &s.out)
	s.after()
	return tag
}

// extend asks for a permit to last longer.
func (s *stage) extend(rule *limit.Rule, permit limit.Receipt) int {
	tag := s.tag()
	s.owner.Check(owner.Check{
		Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: 1, Receipts: true, Extend: permit.Serial,
	}, &s.out)
	s.after()
	return tag
}

func (s *stage) reset(rule *limit.Rule) int {
	tag := s.tag()
	s.owner.Reset(tag, rule, s.clock(), s.clock()+hour, &s.out)
	s.after()
	return tag
}

// takeOut has permits that have come back taken out.
func (s *stage) takeOut(permits []owner.Permit) int {
	tag := s.tag()
	s.owner.TakeOut(tag, permits, s.clock(), s.clock()+30*second, &s.out)
	s.after()
	return tag
}

// leaves returns a permit, with replicas that answer at once, and says whether it was taken out.
func (s *stage) leaves(rule *limit.Rule, r limit.Receipt) bool {
	s.tb.Helper()
	s.quick = []int{0, 1, 2}
	permits := []owner.Permit{{Rule: rule, ID: r.Serial}}
	tag := s.takeOut(permits)
	s.pass(10 * ms)
	s.done(tag)
	return permits[0].Out
}

// pass lets time pass, and the owner wake whenever it wants to. It must not want to wake again at once.
func (s *stage) pass(d int64) {
	s.tb.Helper()
	end := s.now + d
	for s.due() <= end {
		s.now = max(s.now, s.due())
		s.wake()
	}
	s.now = end
}

// due is the true time at which the owner wants to be woken.
func (s *stage) due() int64 {
	if due := s.owner.Due(); due != math.MaxInt64 {
		return due - s.ahead
	}
	return math.MaxInt64
}

func (s *stage) wake() {
	s.tb.Helper()
	s.owner.Wake(s.clock(), &s.out)
	s.after()
	if due := s.owner.Due(); due <= s.clock() {
		s.tb.Fatalf("woken at %d, the owner wants to be woken at %d", s.clock()-start, due-start)
	}
}

// reply is the answer to a check or reset, if it has one. Nothing is ever answered twice.
func (s *stage) reply(tag int) (owner.Reply, bool) {
	s.tb.Helper()
	var found []owner.Reply
	for _, r := range s.answers {
		if r.Tag == tag {
			found = append(found, r)
		}
	}
	if len(found) > 1 {
		s.tb.Fatalf("check %d was answered %d times", tag, len(found))
	}
	if len(found) == 0 {
		return owner.Reply{}, false
	}
	return found[0], true
}

func (s *stage) decision(tag int) limit.Decision {
	s.tb.Helper()
	r, ok := s.reply(tag)
	if !ok || r.Err != nil {
		s.tb.Fatalf("check %d: answered %v, error %v, want a decision", tag, ok, r.Err)
	}
	return r.Decision
}

// admitted asserts that the check was admitted, and gives its receipt of the first limit.
func (s *stage) admitted(tag int) limit.Receipt {
	s.tb.Helper()
	d := s.decision(tag)
	if !d.Allowed {
		s.tb.Fatalf("check %d was denied: %+v", tag, d.Limits)
	}
	if len(d.Receipts) == 0 {
		return limit.Receipt{}
	}
	return d.Receipts[0]
}

// denied asserts that the check was denied, and gives what the first limit says.
func (s *stage) denied(tag int) limit.Outcome {
	s.tb.Helper()
	d := s.decision(tag)
	if d.Allowed {
		s.tb.Fatalf("check %d was admitted: %+v", tag, d.Limits)
	}
	return d.Limits[0]
}

func (s *stage) waits(tags ...int) {
	s.tb.Helper()
	for _, tag := range tags {
		if r, ok := s.reply(tag); ok {
			s.tb.Fatalf("check %d was answered: %+v", tag, r)
		}
	}
}

func (s *stage) failed(tag int, want error) {
	s.tb.Helper()
	r, ok := s.reply(tag)
	if !ok || !errors.Is(r.Err, want) {
		s.tb.Fatalf("check %d: answered %v, error %v, want %v", tag, ok, r.Err, want)
	}
}

// done asserts that a reset was done.
func (s *stage) done(tag int) {
	s.tb.Helper()
	if r, ok := s.reply(tag); !ok || r.Err != nil {
		s.tb.Fatalf("request %d: answered %v, error %v", tag, ok, r.Err)
	}
}

// lastSent is the reservation that was sent last, as lengths from the start of the story.
func (s *stage) lastSent() (from, to int64) {
	s.tb.Helper()
	if len(s.sent) == 0 {
		s.tb.Fatal("nothing was sent")
	}
	m := s.sent[len(s.sent)-1]
	return m.From - start, m.To - start
}

func (s *stage) wantSent(from, to int64) {
	s.tb.Helper()
	if gotFrom, gotTo := s.lastSent(); gotFrom != from || gotTo != to {
		s.tb.Fatalf("reserved (%v, %v], want (%v, %v]",
			time.Duration(gotFrom), time.Duration(gotTo), time.Duration(from), time.Duration(to))
	}
}

func (s *stage) wantSends(n int) {
	s.tb.Helper()
	if len(s.sent) != n {
		s.tb.Fatalf("%d reservations were sent, want %d: %+v", len(s.sent), n, s.sent)
	}
}

func (s *stage) view(name string) owner.View {
	s.tb.Helper()
	v, ok := s.owner.View(name, s.clock())
	if !ok {
		s.tb.Fatalf("the owner has no bucket of %s", name)
	}
	return v
}
