package owner

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// The model's time moves in ticks as long as the silence after a refusal, and of its tokens one comes back every tick: a
// token is a tick of line, and every position is a small whole number.
const (
	tick   = silence
	nodes  = 4 // at most; all but one are the replicas, if those do not change
	owners = 3 // at most
)

// rule is the rule of the only limit.
func (s *setting) rule() *limit.Rule {
	l := limittest.Of(s.algorithm, "m", s.capacity, limit.Refill{Tokens: 1, Per: time.Duration(tick)})
	l.Reserve = s.reserve
	rule, err := l.Rule()
	if err != nil {
		panic(err)
	}
	return rule
}

// A setting bounds a world: how long it lasts, and how much may happen in it. Times are ticks.
type setting struct {
	name      string
	algorithm string // empty: the default
	capacity  int64  // of the bucket, in tokens
	reserve   limit.Reserve
	ticks     int8
	checks    [owners][]int64 // what each owner is asked: the costs, in their order
	patience  int64           // of a check; 0: endless
	epsMax    int64           // and a message is accepted so long after it was sent
	pause     int64           // before each retry, in nanoseconds
	clock     [owners]int64   // how far the owners' clocks are ahead
	busy      bool            // A's callers are many: it reserves ahead, in the background too
	restarts  int8            // of owners, each under a new name
	resets    int8
	losses    int8 // of disks
	sweeps    int8
	returns   int8
	dormant   bool // owners may be dormant whenever they can
	edging
	gone    members        // replicas that are lost: owners are told so
	change  change         // of the replica set
	opening func(w *world) // what has happened before the beginning
	// calendar says whether an event may happen now, so many ticks after the beginning; nil: any may.
	calendar func(w *world, e event, elapsed int64) bool

	variant
}

// burst is how many tokens may be admitted at once.
func (s *setting) burst() int64 {
	if s.algorithm == "" {
		return s.capacity
	}
	return s.rule().Envelope().Burst
}

// A variant is what is wrong in a world, nothing in the zero one. It stands around the production steps.
type variant struct {
	replica  func(register.Partition, register.Register, register.Reservation, int64, register.Bounds) (register.Register, register.Answer, bool)
	sameName bool // an owner that restarts has the name of its last life, and counts from 1 again
	noFloor  bool // a lost disk sets no floor
	counters bool // generations are counted: a reset makes the highest one heard of plus 1
	early    bool // an owner spends what it has asked for, before any answer
	one      bool // one replica's word is enough
	again    bool // a receipt can be returned again and again
	unspent  bool // a dormant owner forgets how much of its line is spent

	wrongMove
}

func (s *setting) bounds() register.Bounds {
	return register.Bounds{EpsMax: s.epsMax * tick, DeltaMax: tick}
}

// A budget is what may still happen, and how far the checks have come.
type budget struct {
	ticks, restarts, resets, losses, sweeps, returns int8

	wanted, takes, suspends, yields, regrets int8 // of edges

	drivers, failures, replacements int8 // of a change of the replica set

	asked [owners]int8 // checks
}

// A node is one replica.
type node struct {
	register.Register
	partition register.Partition
}

// A player is one owner, in its present life.
type player struct {
	Owner
	life  uint8
	seq   uint64
	cache struct { // where the copy of an owner keeps what it points to
		crowd    overflow
		unserved []waiter
		extra    extra
		talk     replication
		refusal  refusal
		returns  returns
	}
}

// A message is a reservation that was sent and may arrive, at any replica, any number of times, at any time from now on.
type message struct {
	Send
	who, life uint8
	now       int64       // stamped when it was sent last
	said      [nodes]bool // the replica has accepted it; the answer is under way, for ever
}

// A stray is a message whose answers no owner counts any more, since its sender has died or given it up. It may still
// arrive, as often and as late as any other.
type stray struct {
	epoch                uint64
	generation, from, to int64
	until                int64 // no replica accepts it later
}

// A proof is a receipt that its holder may yet return.
type proof struct {
	limit.Receipt
	who, life uint8
	back      bool
}

// A company is what all states of one exploration share.
type company struct {
	*setting
	rules []*limit.Rule // the one of the model's one bucket
	cfgs  [nodes]Config // by how many replicas there are
	moves *moves
	// The replicas of the first epoch, and all nodes that there are.
	first, machines members
	turn            *player              // whose step it is
	who             int                  // its number
	ending          bool                 // nothing more goes wrong
	say             func(string, ...any) // tells the story, if it is to be told
	out             Out
}

func newCompany(s *setting) *company {
	c := &company{setting: s, rules: []*limit.Rule{s.rule()}}
	for i := range c.cfgs {
		c.cfgs[i] = Config{
			Replicas: i, Delta: tick, Slack: s.bounds().Slack(), Resend: 2 * tick, ReturnFor: 1000 * tick, Late: s.late(),
			NextSeq: func() uint64 { c.turn.seq++; return c.turn.seq },
			Nonce:   func() uint64 { return 0 },
			Rand: func(int64) int64 {
				if c.ending {
					return int64(1+c.who) * tick // chance parts rivals
				}
				return s.pause
			},
		}
	}
	c.moves = newMoves()
	c.say = func(string, ...any) {}
	return c
}

// A world is one state of the model. The messages are in the order of their senders and numbers.
type world struct {
	*company
	now     int64
	place   place // of the registers, as raft has agreed it
	nodes   [nodes]node
	drivers [2]uint16      // of a change of the place, by the number of what they know; 0: none
	orders  [nodes]uint8   // what any driver ever wanted of a node
	players [owners]player // of which there is a team
	post    []message
	strays  []stray
	proofs  []proof
	edges   [edgesMost]edge
	grants  []granted
	tails   []tailed
	history history
	left    budget
	broken  string // the promise that was broken, if one was

	undecided int // checks that were answered without a decision
}

// team are the owners that there are: A, B, and C if anything is asked of it.
func (w *world) team() []player {
	if len(w.checks[2]) == 0 {
		return w.players[:2]
	}
	return w.players[:]
}

// waiting is how many checks wait, at all owners.
func (w *world) waiting() (n int) {
	for i := range w.team() {
		n += w.players[i].Waiting()
	}
	return n
}

// newWorld is the state in which everything begins.
func newWorld(s *setting) *world {
	w := &world{company: newCompany(s), now: tick, left: budget{
		ticks: s.ticks, restarts: s.restarts, resets: s.resets, losses: s.losses, sweeps: s.sweeps, returns: s.returns,
		takes: s.takes, suspends: s.suspends, yields: s.yields, regrets: s.regrets,
		drivers: s.change.drivers, failures: s.change.failures, replacements: s.change.replacements(),
	}}
	w.begin()
	for i := range w.team() {
		w.start(i)
	}
	w.openEdges()
	if s.opening != nil {
		s.opening(w)
		w.tidy()
	}
	return w
}

// copyTo makes a copy of w that shares nothing with it that ever changes, in the memory of d.
func (w *world) copyTo(d *world) {
	d.company, d.now, d.nodes, d.left, d.broken = w.company, w.now, w.nodes, w.left, w.broken
	d.undecided = w.undecided
	d.place, d.drivers, d.orders = w.place, w.drivers, w.orders
	d.post = append(d.post[:0], w.post...)
	d.strays = append(d.strays[:0], w.strays...)
	d.proofs = append(d.proofs[:0], w.proofs...)
	w.copyEdgesTo(d)
	w.history.copyTo(&d.history)
	for i := range w.team() {
		w.players[i].copyTo(&d.players[i])
	}
}

func (p *player) copyTo(d *player) {
	d.life, d.seq = p.life, p.seq
	d.Owner = p.Owner
	c := &d.cache
	if p.overflow != nil {
		c.unserved = append(c.unserved[:0], p.waiting()...)
		c.crowd = *p.overflow
		c.crowd.items, c.crowd.done = c.unserved, 0
		d.overflow = &c.crowd
	}
	x := p.Owner.bucket.extra
	if x == nil {
		return
	}
	c.extra = *x
	d.Owner.bucket.extra = &c.extra
	if t := x.replication; t != nil {
		c.talk = *t
		c.extra.replication = &c.talk
		if t.pending != nil {
			c.talk.pending = &c.talk.flight
		}
		if t.refused != nil {
			c.refusal = *t.refused
			c.talk.refused = &c.refusal
		}
	}
	if r := x.returns; r != nil {
		made, free := c.returns.made[:0], c.returns.free[:0]
		made, free = append(made, r.made...), append(free, r.free...)
		c.returns = *r
		c.returns.made, c.returns.free = made, free
		c.extra.returns = &c.returns
	}
}

// waiting is what waits at the player.
func (p *player) waiting() []waiter {
	if p.overflow == nil {
		return nil
	}
	return p.overflow.waiting()
}

// start gives a player a new life: nothing of the last one is known.
func (w *world) start(who int) {
	p := &w.players[who]
	p.life++
	if w.sameName {
		p.life, p.seq = 1, 0
	}
	epoch := uint64(ring.FirstEpoch)
	if p.Terms != nil {
		epoch = p.epoch
	}
	p.Owner = Owner{Terms: w.terms(who, epoch)}
}

// canSleep says whether the player can be dormant, and would forget something. How long ago it was spent from does not matter in the model.
func (w *world) canSleep(who int) bool {
	b := w.players[who].bucket()
	if !w.dormant || b == nil || b.confirmed == 0 && b.extra == nil {
		return false
	}
	_, ok := w.players[who].Rest(w.clock(who))
	return ok
}

// sleep has a player be dormant, and wake.
func (w *world) sleep(who int) {
	w.say("%s is dormant, and wakes", w.name(who))
	w.step(who, func(o *Owner, now int64, _ *Out) {
		rest, _ := o.Rest(now)
		if w.unspent {
			rest.tat = limit.Pos{}
		}
		*o = Owner{Terms: o.Terms}
		o.Restore(rest, now)
	})
}

// clock is what the player's clock shows.
func (w *world) clock(who int) int64 { return w.now + w.setting.clock[who]*tick }

// bucket is the player's bucket, or nil.
func (p *player) bucket() *bucket {
	if p.size() == 0 {
		return nil
	}
	return p.at(0)
}

// step lets a player take a step and takes up what it puts out. How busy the key is, is not left to the few checks of
// the model; what cannot matter later is forgotten.
func (w *world) step(who int, f func(o *Owner, now int64, out *Out)) {
	p := &w.players[who]
	now := w.clock(who)
	out := &w.out
	w.turn, w.who = p, who
	cfg := p.cfg
	cfg.Busy = 100
	if w.busy && who == 0 {
		cfg.Busy = 0
	}
	if b := p.bucket(); b != nil {
		b.load, b.checks = load{at: now}, 0
		if w.busy && who == 0 {
			b.load.line = float32(tick)
			b.held.from = math.MinInt32 * tick // however much of the segment is left, it is less than a quarter
		}
	}
	out.Reset()
	f(&p.Owner, now, out)
	if b := p.bucket(); b != nil {
		b.load, b.checks, b.last, b.held.from = load{}, 0, decision{}, 0
		if w.setting.returns == 0 && len(w.leases) == 0 {
			b.forgetReturns()
		}
		if t := b.replication(); t != nil {
			t.tries = 0
		}
		b.settle(p.cfg, out)
	}
	out.reusable = reusable{} // it may be memory of a copy, which will be used again
	for _, r := range out.Replies {
		w.reply(who, r)
	}
	for _, s := range out.Sends {
		w.send(who, s, now)
	}
	if w.early && len(out.Sends) > 0 {
		m := message{Send: out.Sends[0], who: uint8(who), life: p.life}
		for i := range p.cfg.Replicas {
			w.hear(m, Answer{Replica: i, Verdict: Accepted})
		}
	}
}

// send puts a message under way. One that is sent again differs only in its time; the older copy can do nothing that
// the newer one cannot.
func (w *world) send(who int, s Send, now int64) {
	p := &w.players[who]
	if w.counters && p.bucket().pending().reset {
		s.Generation = w.count(p.bucket(), s.Generation)
	}
	m := message{Send: s, who: uint8(who), life: p.life, now: now}
	w.skipped(&m)
	i, found := slices.BinarySearchFunc(w.post, m, func(a, b message) int {
		return cmp.Or(cmp.Compare(a.who, b.who), cmp.Compare(a.Seq, b.Seq))
	})
	if found && reflect.DeepEqual(w.post[i].Send, s) {
		w.say("%s sends %s again", w.name(who), &m)
		w.post[i].now, w.post[i].life = now, p.life
		return
	}
	w.say("%s sends %s", w.name(who), &m)
	w.post = slices.Insert(w.post, i, m)
}

// reserve puts a message before a replica.
func (w *world) reserve(replica int, m register.Reservation) register.Answer {
	n := &w.nodes[replica]
	reserve := register.Partition.Reserve
	if w.replica != nil {
		reserve = w.replica
	}
	m.Limit, m.Reach = w.rules[0].Name, w.rules[0].Reach()
	after, a, write := reserve(n.partition, n.Register, m, w.now, w.bounds())
	if write {
		n.Register = after
	}
	return a
}

// deliver brings a message to a replica. An acceptance is under way from then on; anything else is heard at once, since
// an answer that is lost changes nothing but what an answer teaches.
func (w *world) deliver(m *message, replica int) {
	a := w.reserve(replica, register.Reservation{
		Writer: register.Writer{m.who + 1, m.life}, Seq: m.Seq, Epoch: m.Epoch, Now: m.now,
		Generation: m.Generation, From: m.From, To: m.To,
	})
	if a.Verdict == register.Accepted {
		w.say("%s of %s arrives at replica %d, which accepts it", m, w.name(int(m.who)), replica+1)
		m.said[replica] = true
		w.agreed(m)
		return
	}
	w.say("%s of %s arrives at replica %d, which refuses it: its line is free from %d on in generation %s, skew %d",
		m, w.name(int(m.who)), replica+1, a.Position/tick, position(a.Generation), a.Skew/tick)
	w.hear(*m, Answer{Replica: w.set(m.Epoch).index(replica), Verdict: VerdictOf(a.Verdict), Position: a.Position, Generation: a.Generation})
}

// strand brings a stray to a replica, from an owner outside the model.
func (w *world) strand(s stray, replica int) {
	a := w.reserve(replica, register.Reservation{
		Seq: 1, Epoch: s.epoch, Now: w.now, Generation: s.generation, From: s.from, To: s.to,
	})
	w.say("a stray reservation of (%d, %d] in generation %s arrives at replica %d: accepted is %v",
		s.from/tick, s.to/tick, position(s.generation), replica+1, a.Verdict == register.Accepted)
}

// accepted brings a player the acceptance that a replica has sent.
func (w *world) accepted(m message, replica int) {
	w.say("%s hears that replica %d accepts %s", w.name(int(m.who)), replica+1, &m)
	set := w.set(m.Epoch)
	for i := range set.size() {
		if i == set.index(replica) || w.one {
			w.hear(m, Answer{Replica: i, Verdict: Accepted})
		}
	}
}

func (w *world) hear(m message, a Answer) {
	if p := &w.players[m.who]; p.life != m.life {
		return
	}
	a.Limit, a.Seq, a.Epoch = m.Limit, m.Seq, m.Epoch
	if a.Verdict == Accepted {
		a.Position, a.Generation = m.To, m.Generation
	}
	w.step(int(m.who), func(o *Owner, now int64, out *Out) { o.Answer(a, now, out) })
}

// reply takes up an answer that a player gave, and writes down what was spent.
func (w *world) reply(who int, r Reply) {
	if wish, ok := r.Tag.(wish); ok {
		w.granted(who, wish, r)
		return
	}
	at := r.Tag.(reading)
	switch {
	case r.Err != nil:
		if !errors.Is(r.Err, errSkewed) {
			w.undecided++
		}
		w.say("%s has no decision for the %s: %v", w.name(who), at, r.Err)
		return
	case len(r.Decision.Limits) == 0:
		w.say("%s has done the %s", w.name(who), at)
		for i := range w.post {
			w.history.era(w.post[i].Generation) // in which something may yet be spent
		}
		w.history.reset(w.players[who].bucket().gen, w.reserved)
		return
	case !r.Decision.Allowed:
		w.say("%s denies the %s", w.name(who), at)
		return
	case at.cost == 0:
		w.say("%s admits the %s", w.name(who), at)
		return
	}
	receipt := r.Decision.Receipts[0]
	w.say("%s admits the %s: it spends %s of generation %s%s", w.name(who), at, span(receipt.Span),
		position(receipt.Generation), reused(receipt))
	if broken := w.history.spend(receipt, at, w.setting); broken != "" && w.broken == "" {
		w.broken = broken
	}
	if w.left.returns > 0 {
		w.proofs = append(w.proofs, proof{Receipt: receipt, who: uint8(who), life: w.players[who].life})
	}
}

// reserved is all line of a generation that owners hold, or may come to hold because a replica has accepted it.
func (w *world) reserved(generation int64) (set uint64) {
	for i := range w.team() {
		if b := w.players[i].bucket(); b != nil && b.gen == generation {
			held, _ := line(b.tat.NS, b.held.to)
			next, _ := line(b.next().from, b.next().to)
			set |= held | next
		}
	}
	for i := range w.post {
		m := &w.post[i]
		if m.Generation == generation && slices.Contains(m.said[:], true) {
			asked, _ := line(m.From, m.To)
			set |= asked
		}
	}
	return set | w.history.era(generation).leased
}

// A reading is what a check or reset is remembered by: its cost, which is negative for a reset, and the true time at which
// the clock was read for it.
type reading struct{ cost, at int64 }

// tidy turns messages that no owner waits for into strays, and forgets those that no replica will ever accept. That loses
// only what their answers would tell.
func (w *world) tidy() {
	if w.sameName {
		return // the next life may take up any message of the last one
	}
	w.post = slices.DeleteFunc(w.post, func(m message) bool {
		if w.awaited(&m) {
			return false
		}
		s := m.stray()
		s.until = m.now + w.epsMax*tick
		if i, known := slices.BinarySearchFunc(w.strays, s, compareStrays); !known {
			w.strays = slices.Insert(w.strays, i, s)
		}
		return true
	})
	w.strays = slices.DeleteFunc(w.strays, func(s stray) bool {
		return s.until < w.now || w.left.losses == 0 && !w.everAcceptable(s)
	})
}

func compareStrays(a, b stray) int {
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.generation, b.generation), cmp.Compare(a.from, b.from),
		cmp.Compare(a.to, b.to), cmp.Compare(a.until, b.until))
}

// acceptable says whether a replica might accept s. If it would not now, it never will again in its epoch.
func (w *world) acceptable(s stray, replica int) bool {
	n := &w.nodes[replica]
	return w.replica != nil || n.partition.Epoch == s.epoch && !n.partition.Sealed && n.Generation <= s.generation &&
		n.partition.Free(n.Register, s.generation, w.rules[0].Reach(), w.bounds()) <= s.from
}

// everAcceptable says whether any replica might accept s now or later.
func (w *world) everAcceptable(s stray) bool {
	for n := range w.nodes {
		if w.set(s.epoch).has(n) && (w.nodes[n].partition.Epoch < s.epoch || w.acceptable(s, n)) {
			return true
		}
	}
	return false
}

func (m *message) stray() stray {
	return stray{epoch: m.Epoch, generation: m.Generation, from: m.From, to: m.To}
}

// heard says whether the sender has counted an answer of that replica, or counts none any more.
func (w *world) heard(m *message, replica int) bool {
	p := &w.players[m.who]
	if p.life != m.life {
		return true
	}
	awaited := p.awaits(m.Seq)
	return awaited == nil || awaited.replies[w.set(m.Epoch).index(replica)].hasPosition()
}

// awaited says whether the player's present life counts answers to m.
func (w *world) awaited(m *message) bool {
	p := &w.players[m.who]
	return p.life == m.life && p.awaits(m.Seq) != nil
}

// awaits is the reservation with that number, if its answers still count.
func (p *player) awaits(seq uint64) *pending {
	b := p.bucket()
	if b == nil {
		return nil
	}
	if awaited := b.pending(); awaited != nil && awaited.Seq == seq {
		return awaited
	}
	if r := b.refused(); r != nil && r.Seq == seq {
		return &r.pending
	}
	return nil
}

// oldest is the time of the oldest check of the player that may yet be decided, on its own clock.
func (w *world) oldest(who int) int64 {
	at := w.clock(who)
	for _, u := range w.players[who].waiting() {
		at = min(at, u.At)
	}
	return at
}

// plain is where plain counts begin, out of the way of positions.
const plain = 200 * tick

// count makes a plain count of the generation that a reset asks for: the highest heard of, plus 1. The model remembers
// which position it stands for.
func (w *world) count(b *bucket, generation int64) int64 {
	if generation >= plain {
		return generation // sent again
	}
	next := max(plain, b.gen)
	for i := range w.set(ring.FirstEpoch).size() {
		if h := b.latest(i); h.generation >= plain {
			next = max(next, h.generation)
		}
	}
	next++
	b.pending().Generation = next
	e := w.history.era(next)
	if e.position == next {
		e.position = 0
	}
	e.position = max(e.position, generation)
	return next
}
