package simulation

import (
	"cmp"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
)

// A heldTally holds what owners do with holds against what is promised of them. It sees each ledger that a majority has stored, whoever wrote
// it, and what owners answer:
//
//   - a claim is told the latest of these ledgers, unless a majority has forgotten it;
//   - of each hold, a ledger counts what it has taken, to the token;
//   - a bucket has to refill what was taken of it, but for what refills in the difference of two clocks (see refills);
//   - a hold that was answered is listed, and a settlement that was answered stands, in every later ledger;
//   - what owners take and charge they write into the tally's history, whose checkers judge the rest.
type heldTally struct {
	books []*book // by bucket; nil for a limit that takes no holds
}

// A book is what is known of the holds of a bucket.
type book struct {
	w          *World
	key, limit int
	plain      bool // checks take of it too

	writes []*storedLedger // of the latest ledgers that a majority has stored, in the order of their positions
	stored map[uint64]limit.HoldEntry
	unseen map[uint64]bool            // of stored, those that an owner may have settled in a ledger that only a later one, which lists them no more, made known
	vain   map[uint64]limit.HoldEntry // those that a replica has stored and no majority: a later owner may read them, and drop them with its first write
	tabs   []*tab                     // holds that owners have answered, in that order
	wiped  int64                      // the true time until which a reset may yet empty the bucket
	poured []poured                   // what a bucket has to refill
	past   bool                       // a majority has forgotten a ledger, or one was emptied: what was taken before counts no more
}

// A tab is a hold of one bucket that an owner has answered.
type tab struct {
	id      uint64
	taken   int64 // true time
	granted int64
	rule    *limit.Rule
	says    []int64 // what settlements for good have said
	told    []int64 // what owners were told to be used, by those and by others
	final   bool    // one was answered
	charged int64   // by it
	gone    bool    // it may be forgotten, by a reset or with a majority of the disks
}

func newHeldTally(w *World) heldTally {
	h := heldTally{books: make([]*book, len(w.keys)*len(w.limits))}
	for k := range w.honest() {
		for i := range w.holding {
			l := len(w.limits) - w.holding + i
			h.books[w.bucket(k, l)] = &book{w: w, key: k, limit: l, plain: w.plain[i], stored: map[uint64]limit.HoldEntry{}, unseen: map[uint64]bool{}, vain: map[uint64]limit.HoldEntry{}}
		}
	}
	return h
}

// book is that of the i-th limit of a call.
func (h *heldTally) book(q *ask, i int) *book {
	w := q.call.w
	return h.books[w.bucket(q.call.key, q.call.limits[i])]
}

// tab is what is known of a hold that was answered; nil if it is none.
func (b *book) tab(id uint64) *tab {
	for _, t := range slices.Backward(b.tabs) {
		if t.id == id {
			return t
		}
	}
	return nil
}

// forget is for a bucket whose holds need not be known from now on.
func (b *book) forget() {
	for _, t := range b.tabs {
		t.gone = true
	}
	b.past, b.writes, b.poured = true, nil, nil
	clear(b.stored)
	clear(b.unseen)
	clear(b.vain)
}

// reset notes that a bucket may be emptied from now on, as long as any owner may be trying to.
func (h *heldTally) reset(w *World, key, limit int) {
	if b := h.books[w.bucket(key, limit)]; b != nil {
		b.wiped = max(b.wiped, w.now+2*maxWait)
		w.count("holds reset")
		b.forget()
	}
}

// took takes in an admission by the i-th limit of a call.
func (h *heldTally) took(p *process, q *ask, d limit.Decision, i int) {
	w, c, b := p.w, q.call, h.book(q, i)
	if c.cost == 0 {
		return
	}
	w.say(c.key, "%s admits %s, read at %s", p.name, c, w.clockTime(q.reading))
	wrong := q.held || max(q.ahead, -q.ahead) > w.mayBeAhead()
	call := w.seenOf(c.key, c.limits[i], history.KindCheck, history.Admitted, q.at)
	call.Cost, call.Via = c.cost, p.name
	if d.Hold != nil {
		held := d.Hold.Limits[i]
		w.countHold(q, d.Hold.Granted, q.rules[i])
		t := &tab{id: held.ID, taken: w.now, granted: d.Hold.Granted, rule: q.rules[i]}
		t.gone = w.now < b.wiped
		b.tabs = append(b.tabs, t)
		if q.rules[i].Counts() {
			b.listed(p, t)
		}
		call.Kind, call.Cost, call.Hold = history.KindHold, d.Hold.Granted, &history.Hold{ID: load.HoldID(held), For: c.holdFor}
	}
	if wrong {
		w.count("holds by wrong clocks")
		b.poured = nil
		return
	}
	b.pour(q, &call, d.Hold, i)
	w.ledger.tally.add(&call, q.rules[i])
}

// countHold counts what kind of hold was taken.
func (w *World) countHold(q *ask, granted int64, rule *limit.Rule) {
	w.count("holds taken")
	if granted < q.call.cost {
		w.count("holds of what was left")
	}
	if !rule.Counts() {
		w.count("holds taken of a line")
	}
}

// mostWrites is how many ledgers are remembered, of which a claim that is accepted late may have been told.
const mostWrites = 64

// mostPast is how many holds of a bucket are known for certain as long as they may be settled.
const mostPast = 200

// known says whether every ledger that is stored from now on must list the hold.
func (b *book) known(t *tab) bool {
	w := b.w
	return !t.gone && w.now >= b.wiped && w.now < t.taken+int64(limit.SettleLate)-2*w.mayBeAhead() && len(b.tabs) < mostPast
}

// listed asserts that a hold that is answered is stored at a majority.
func (b *book) listed(p *process, t *tab) {
	if _, found := b.stored[t.id]; !found && b.known(t) {
		b.w.violate(b.key, "%s answers a hold of %d from %s, and no majority has stored it", p.name, t.granted, b.w.bucketName(b.key, b.limit))
	}
}

// A storedLedger is a ledger that a majority has stored.
type storedLedger struct {
	owner    limit.OwnerID
	from, to int64 // of the reservation that wrote it; from is its version
	expire   int64 // until when it is to be kept, by the owner's clock
	ledger   []byte
}

// claimed asserts that a claim from there on is told the latest ledger that a majority has stored.
func (h *heldTally) claimed(bucket int, from, told int64) {
	b := h.books[bucket]
	if b == nil {
		return
	}
	w := b.w
	i, _ := slices.BinarySearchFunc(b.writes, from, func(before *storedLedger, from int64) int { return cmp.Compare(before.to, from+1) })
	if i == 0 || told >= b.writes[i-1].from { // what lies behind it may have been stored before the last replica accepts it
		return
	}
	switch latest := b.writes[i-1]; {
	case w.now > latest.expire-w.mayBeAhead(): // it was swept
		if i < len(b.writes) {
			return // and another owner has written since: who claims from before that writes nothing
		}
	case w.counts["floors set"] == 0:
		w.violate(b.key, "a claim of %s is told the ledger of %s, and a majority has stored that of %s", w.bucketName(b.key, b.limit), w.clockTime(told), w.clockTime(latest.from))
	default:
		w.count("ledgers of holds that a majority has forgotten")
	}
	b.forget()
}

// tried takes in a ledger that the first replica has stored.
func (h *heldTally) tried(bucket int, r storedLedger) {
	b := h.books[bucket]
	if b == nil {
		return
	}
	l := b.w.limits[b.limit].rules[0].NewLedger(tolerance * 2)
	if l.Read(r.ledger, r.owner) != nil {
		return // see written
	}
	for _, e := range l.Holds() {
		if _, stored := b.stored[e.ID]; !stored && b.tab(e.ID) == nil {
			b.vain[e.ID] = e
		}
	}
}

// written takes in a ledger that a majority has stored.
func (h *heldTally) written(bucket int, r storedLedger) {
	b := h.books[bucket]
	if b == nil {
		return
	}
	w, rule := b.w, b.w.limits[b.limit].rules[0]
	if n := len(b.writes); n > 0 && r.from < b.writes[n-1].from { // the last replica has accepted it late: those behind were made from it
		return
	}
	if b.writes = append(b.writes, &r); len(b.writes) > mostWrites {
		b.writes = slices.Delete(b.writes, 0, mostWrites/2)
	}
	l := rule.NewLedger(tolerance * 2)
	if err := l.Read(r.ledger, r.owner); err != nil {
		w.violate(b.key, "a ledger of %s cannot be read: %v", w.bucketName(b.key, b.limit), err)
		return
	}
	if len(l.Entries()) == 0 && len(l.Holds()) == 0 && w.now < b.wiped {
		b.forget() // it was emptied
		b.past = false
	}
	for _, e := range l.Holds() {
		b.note(e)
	}
	b.left(l)
	b.stands(l)
	b.adds(l)
	b.refills(l)
}

// left takes in which holds the ledger lists no more: one that no check was given is taken out, and one whose time has long been over is
// dropped, and freed first if it is to be. Unless it was settled: a settlement that a minority has stored stands once a later owner has read it.
func (b *book) left(l *limit.Ledger) {
	for id, e := range b.stored {
		_, listed := l.HoldOf(id)
		over := b.w.now >= e.Until+int64(limit.SettleLate)-b.w.mayBeAhead()
		t := b.tab(id)
		switch {
		case listed:
		case !over && t == nil:
			delete(b.stored, id)
		case over && !e.Settled:
			e.Freed = e.Freed || e.Free
			b.stored[id], b.unseen[id] = e, t != nil && len(t.told) > 0
		}
	}
}

// note takes in how a hold is stored.
func (b *book) note(e limit.HoldEntry) {
	before, known := b.stored[e.ID]
	if !known && e.Settled && b.tab(e.ID) == nil {
		b.w.count("holds first seen when they were settled")
	}
	if e.Freed && !before.Freed && !e.Settled {
		b.w.count("holds freed when they expired")
	}
	b.stored[e.ID] = e
	delete(b.vain, e.ID)
}

// stands asserts that the ledger has what was answered.
func (b *book) stands(l *limit.Ledger) {
	w, name := b.w, b.w.bucketName(b.key, b.limit)
	for _, t := range b.tabs {
		e, found := l.HoldOf(t.id)
		switch {
		case !b.known(t):
		case !found:
			w.violate(b.key, "a hold of %d from %s was answered, and the ledger that a majority has stored does not list it", t.granted, name)
		case e.Amount != t.granted:
			w.violate(b.key, "a hold of %d from %s is stored as one of %d", t.granted, name, e.Amount)
		case t.final && (!e.Settled || e.Used != t.charged):
			w.violate(b.key, "a settlement of a hold from %s charged %d, and the ledger that a majority has stored has %+v", name, t.charged, e)
		}
	}
}

// adds asserts that the entries of the ledger are what its holds have taken, and what checks have: where none ask, nothing else.
func (b *book) adds(l *limit.Ledger) {
	w := b.w
	if b.past || len(b.stored) > mostPast || w.limits[b.limit].rules[0].Algorithm == limit.TokenBucket { // a queue moves on
		return
	}
	held := map[int64]sums{}
	for id, e := range b.stored {
		held[e.At] = held[e.At].plus(b.mayTake(id, &e))
	}
	for id, e := range b.vain {
		switch over := w.now - e.Until - int64(limit.SettleLate); {
		case over > int64(w.limits[b.limit].rules[0].Fill()): // and so is its entry
			delete(b.vain, id)
		case len(held[e.At]) > mostSums:
			return
		case over > -w.mayBeAhead():
			held[e.At] = held[e.At].plus(sums{0, takes(&e)})
		}
	}
	entries := l.Entries()
	for i := 0; i < len(entries); {
		at, sum := entries[i].At, int64(0)
		for ; i < len(entries) && entries[i].At == at; i++ { // what others have entered stands by itself
			sum += entries[i].Amount
		}
		if w.now+w.mayBeAhead() >= l.Until(&limit.Entry{At: at, Mine: true}) {
			continue // what others have entered then counts longer
		}
		if exact := !b.plain && w.healed == 0; sum < held[at].least() || exact && !held[at].has(sum) {
			w.violate(b.key, "an entry of %s is %d, and its holds have taken %v", w.bucketName(b.key, b.limit), sum, held[at])
		}
	}
}

// mayTake is what a hold may have taken of its entry.
func (b *book) mayTake(id uint64, e *limit.HoldEntry) sums {
	may := sums{takes(e)}
	if b.unseen[id] {
		for _, used := range b.tab(id).told {
			may = append(may, used, max(e.Amount, used))
		}
	}
	return may
}

// mostSums is how many sums are told apart.
const mostSums = 1000

// sums are what a sum may be; none is 0.
type sums []int64

// plus are the sums of one of each.
func (s sums) plus(others sums) sums {
	if len(s) == 0 {
		return others
	}
	var all sums
	for _, a := range s {
		for _, b := range others {
			all = append(all, a+b)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s sums) least() int64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Min(s)
}

func (s sums) has(sum int64) bool { return slices.Contains(s, sum) || len(s) == 0 && sum == 0 }

// takes is how much of its entry a hold that is listed has taken.
func takes(e *limit.HoldEntry) int64 {
	if e.Settled || e.Freed {
		return e.Used
	}
	return max(e.Amount, e.Used)
}

// A poured is what was taken of a bucket, and comes back bit by bit.
type poured struct {
	at     int64 // true time at which the owner read its clock
	amount int64
	hold   uint64 // which has taken it, and takes what it says; 0 for a check
}

// pour takes in an admission of a bucket whose ledger is a queue.
func (b *book) pour(q *ask, c *history.Call, h *limit.Hold, i int) {
	if rule := q.rules[i]; !rule.Counts() || rule.Algorithm != limit.TokenBucket {
		return
	}
	p := poured{at: q.at, amount: c.Cost}
	if h != nil {
		p.hold = h.Limits[i].ID
	}
	b.poured = append(b.poured, p)
}

// refills asserts that a ledger that a majority has stored does not have less to refill than there is: than one bucket that was always there
// has, from which each hold has taken at once what it takes now, but for what refills while two clocks differ.
func (b *book) refills(l *limit.Ledger) {
	w, rule := b.w, b.w.limits[b.limit].rules[0]
	if len(b.poured) == 0 || w.now < b.wiped || len(w.limits[b.limit].others) > 0 { // tokens of plans are of different sizes
		return
	}
	perNS := float64(rule.Refill.Tokens) / float64(rule.Refill.Per)
	slices.SortStableFunc(b.poured, func(a, b poured) int { return cmp.Compare(a.at, b.at) })
	level, before := 0.0, b.poured[0].at
	for _, p := range b.poured {
		amount := p.amount
		if p.hold != 0 {
			amount = b.takesAtLeast(p.hold)
		}
		level = max(0, level-perNS*float64(p.at-before)) + float64(amount)
		before = p.at
	}
	level = max(0, level-perNS*float64(w.now-before))
	w.count("ledgers of buckets compared with what they have to refill")
	used := l.Used(w.now + w.mayBeAhead())
	if slack := 1 + 4*perNS*float64(w.mayBeAhead()); float64(used)+slack < level {
		w.violate(b.key, "%.3f tokens of %s have to come back, and the ledger that a majority has stored has %d", level, b.w.bucketName(b.key, b.limit), used)
	}
}

// takesAtLeast is the least that a hold may take.
func (b *book) takesAtLeast(id uint64) int64 {
	t, e := b.tab(id), b.stored[id]
	switch {
	case t == nil || t.gone:
		return 0
	case t.final:
		return t.charged
	case e.Free && !e.Settled && b.w.now+b.w.mayBeAhead() >= e.Until:
		return e.Used
	}
	return b.mayTake(id, &e).least()
}
