package owner

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// MaxReceipts is how many receipts of a bucket its owner remembers, the newest ones. The return of an older one is
// without effect. It is a power of two: see [returns.serial].
const MaxReceipts = 1024

// MaxPieces is how many pieces of returned line a bucket keeps, and so the most that one admission can spend again. When
// there are more, the shortest is given up.
const MaxPieces = 128

// maxPiecesOfHolds is MaxPieces for a bucket of holds. Of nearly every hold a piece comes back, and thousands may be open at once.
const maxPiecesOfHolds = 4096

// maxReuses is how many pieces all receipts that a bucket remembers may have spent again. When there are more, the oldest
// receipts are forgotten.
const maxReuses = 4 * MaxReceipts

// A piece is the line from start (excluded) to end (included).
type piece struct{ start, end limit.Pos }

// spent is the line that one admission consumed: a fresh piece, and returned pieces that it used again.
type spent struct {
	piece
	reuses []piece
	cost   int64 // where entries are counted, and the piece is the entry's
}

// returns is what a bucket knows of giving back: the receipts that it can take back, and the line that was given back
// and waits to be spent again. Both belong to one unbroken stretch of line and die with it, as they die with their
// owner: the limit is stricter then, never looser. Receipts die too when the bucket is full.
type returns struct {
	made   []made    // receipts, a ring: the one of number k is made[k%MaxReceipts]
	oldest uint64    // number of the oldest one that is remembered
	next   uint64    // number of the next one
	reuses int       // pieces that those of made have spent again
	free   []piece   // in their order on the line; none touches another
	sum    limit.Pos // length of free
	since  int64     // when line came back last: for a check read before, it was still spent
	waits  int64     // no check that waits begins later; 0 when none waits: see inPlace
	left   limit.Pos // what lies before is left behind: see leaveBehind
	holds  bool      // holds have come back: see most
}

// made is a receipt that its owner remembers.
type made struct {
	spent
	serial uint64
	back   bool // it has been returned, or is forgotten
	cut    bool // its end has come back
}

// returns is what the bucket knows of giving back, or nil for nothing.
func (b *bucket) returns() *returns {
	if b.extra == nil {
		return nil
	}
	return b.extra.returns
}

// serial is that of the next receipt: its place in the ring, and in all other bits a number that no caller can guess. So only
// a caller that was given the receipt can return the admission.
func (r *returns) serial(nonce uint64) uint64 {
	return nonce&^(MaxReceipts-1) | r.next%MaxReceipts
}

// span is p as callers see it.
func (p piece) span() limit.Span { return limit.Span{Start: p.start.NS, End: p.end.NS} }

func (r *returns) remember(s spent, serial uint64) {
	if r.next-r.oldest == MaxReceipts {
		r.forgetOldest()
	}
	m := made{spent: s, serial: serial}
	if r.next < MaxReceipts {
		r.made = append(r.made, m)
	} else {
		r.made[r.next%MaxReceipts] = m
	}
	r.next++
	for r.reuses += len(s.reuses); r.reuses > maxReuses; {
		r.forgetOldest()
	}
}

func (r *returns) forgetOldest() {
	m := &r.made[r.oldest%MaxReceipts]
	r.reuses -= len(m.reuses)
	*m = made{back: true}
	r.oldest++
}

// forgetMade forgets all receipts.
func (r *returns) forgetMade() {
	clear(r.made)
	r.made, r.oldest, r.next, r.reuses = r.made[:0], 0, 0, 0
}

// find is the remembered receipt that c is a copy of, or nil.
func (r *returns) find(c limit.Receipt) *made {
	k := c.Serial % MaxReceipts
	if k >= uint64(len(r.made)) {
		return nil
	}
	if m := &r.made[k]; m.serial == c.Serial && m.start.NS == c.Start && (m.end.NS == c.End || m.cut && m.end.NS < c.End) && !m.back {
		return m
	}
	return nil
}

// giveBack turns the line of a receipt, as far as it lies behind from, into credit and says whether that is of any use.
func (b *bucket) giveBack(c limit.Receipt, from limit.Pos, now int64) bool {
	r := b.returns()
	if r == nil {
		return false
	}
	m := r.find(c)
	if m == nil {
		return false
	}
	back := m.spent
	if from.After(m.start) { // the rest stays with who has it
		back = spent{piece: piece{limit.Later(m.start, from), m.end}}
		if m.end.After(from) {
			m.end, m.cut = from, true
		}
	} else {
		r.reuses -= len(m.reuses)
		m.back, m.reuses = true, nil
	}
	if r.waits == 0 && !b.creditCap(now).After(b.credit(now)) { // the bucket is full
		return false
	}
	return b.putBack(&back, now)
}

// putBack makes credit of line that was spent, and says whether that is of any use. Line of a window that has ended is
// of none: the line of the windows since, which debt or a check that waited may have begun, is that of other tokens. Nor is what was left behind.
func (b *bucket) putBack(back *spent, now int64) bool {
	r := b.extra.returns
	if r.waits > 0 {
		return r.putInPlace(b.rule, back, limit.At(b.rule.Begin(now)), now)
	}
	from, some := limit.Later(r.left, b.ended(now)), false
	for _, p := range append(back.reuses, back.piece) {
		p.start = limit.Later(p.start, from)
		some = some || p.end.After(p.start)
		r.put(b.rule, p)
	}
	if !some {
		return false
	}
	r.cap(b.rule, b.creditCap(now))
	r.since = now
	return true
}

// ended is up to where the line is that of windows that have ended by t; nowhere without windows.
func (b *bucket) ended(t int64) limit.Pos {
	if begin := b.rule.Begin(t); begin > t {
		return limit.At(begin)
	}
	return limit.Pos{}
}

// creditCap is the most that credit may be at t: the spent line that is not yet past. More of this stretch was never
// given back than was spent of it.
func (b *bucket) creditCap(t int64) limit.Pos {
	return limit.Later(limit.Pos{}, b.rule.Sub(b.tat, limit.At(b.rule.Begin(t))))
}

// credit is the length of returned line that can be spent again at t.
func (b *bucket) credit(t int64) limit.Pos {
	r := b.returns()
	if r == nil || r.sum == (limit.Pos{}) || t < r.since {
		return limit.Pos{}
	}
	if r.waits > 0 {
		return r.behind(b.rule, limit.At(b.rule.Begin(t)))
	}
	if most := b.creditCap(t); r.sum.After(most) {
		return most
	}
	return r.sum
}

// put keeps a piece to be spent again, as one with those that it touches.
func (r *returns) put(rule *limit.Rule, p piece) {
	if !p.end.After(p.start) {
		return
	}
	r.sum = rule.Add(r.sum, rule.Sub(p.end, p.start))
	i, _ := slices.BinarySearchFunc(r.free, p, func(a, b piece) int { return a.start.Compare(b.start) })
	if i < len(r.free) && r.free[i].start == p.end {
		p.end = r.free[i].end
		r.free = slices.Delete(r.free, i, i+1)
	}
	if i > 0 && r.free[i-1].end == p.start {
		r.free[i-1].end = p.end
	} else {
		r.free = slices.Insert(r.free, i, p)
	}
	if len(r.free) > r.most() {
		r.giveUpShortest(rule)
	}
}

// most is how many pieces are kept.
func (r *returns) most() int {
	if r.holds {
		return maxPiecesOfHolds
	}
	return MaxPieces
}

func (r *returns) giveUpShortest(rule *limit.Rule) {
	shortest, least := 0, rule.Sub(r.free[0].end, r.free[0].start)
	for i, p := range r.free {
		if size := rule.Sub(p.end, p.start); least.After(size) {
			shortest, least = i, size
		}
	}
	r.free = slices.Delete(r.free, shortest, shortest+1)
	r.sum = rule.Sub(r.sum, least)
}

// cap drops what exceeds most, the first on the line first.
func (r *returns) cap(rule *limit.Rule, most limit.Pos) {
	if r.sum.After(most) {
		r.take(rule, rule.Sub(r.sum, most))
	}
}

// take spends up to length of the free pieces, the first on the line first, and says what is left of length.
func (r *returns) take(rule *limit.Rule, length limit.Pos) (taken []piece, left limit.Pos) {
	whole := 0 // pieces that are spent whole
	for whole < len(r.free) && length.After(limit.Pos{}) {
		p := &r.free[whole]
		size := rule.Sub(p.end, p.start)
		if size.After(length) {
			cut := rule.Add(p.start, length)
			taken = append(taken, piece{p.start, cut})
			p.start = cut
			r.sum, length = rule.Sub(r.sum, length), limit.Pos{}
			break
		}
		taken = append(taken, *p)
		r.sum, length = rule.Sub(r.sum, size), rule.Sub(length, size)
		whole++
	}
	r.free = slices.Delete(r.free, 0, whole)
	return taken, length
}

// Line that came back counts by its length as long as checks begin in the order of their decisions: what was returned after its own
// place on the line has passed is still worth something, since all that was spent behind it has moved up. While checks wait whose
// times are told already, nothing moves up: until the last of them has begun, line that came back is spent in place, by a check that
// begins early enough to be there.

// spanAt says of a check of t that begins at at where its span would end, and how much of the length must be line that was never
// spent.
func (b *bucket) spanAt(t, at int64, length limit.Pos) (end, fresh limit.Pos) {
	r := b.returns()
	if r == nil || r.sum == (limit.Pos{}) || at < r.since {
		return b.rule.End(b.tat, at, length), length
	}
	if r.inPlace(t, at) {
		return r.spanBehind(b.rule, b.tat, at, length)
	}
	credit := b.credit(t)
	return b.rule.End(b.rule.Sub(b.tat, credit), t, length), limit.Later(limit.Pos{}, b.rule.Sub(length, credit))
}

// noteWait notes that a check begins at at, which is later, if line may come back before: by a receipt, or of a hold.
func (b *bucket) noteWait(at int64) {
	x := b.extra
	if x == nil || x.returns == nil && x.holds == nil {
		return
	}
	if x.returns == nil {
		x.returns = &returns{}
	}
	x.returns.waits = max(x.returns.waits, at)
}

// inPlace says whether a check of t that begins at at can have returned line only in its place: it waits, or others do.
func (r *returns) inPlace(t, at int64) bool { return r.waits > 0 || at > t }

// waitsAreOver says whether checks have waited that may all have begun by now.
func (r *returns) waitsAreOver(now int64) bool { return r.waits > 0 && now >= r.waits }

// cut gives up what lies before begin.
func (r *returns) cut(rule *limit.Rule, begin limit.Pos) {
	kept := r.free[:0]
	r.sum = limit.Pos{}
	for _, p := range r.free {
		if p.start = limit.Later(p.start, begin); p.end.After(p.start) {
			kept = append(kept, p)
			r.sum = rule.Add(r.sum, rule.Sub(p.end, p.start))
		}
	}
	r.free = kept
}

// behind is the length of what came back and lies behind begin.
func (r *returns) behind(rule *limit.Rule, begin limit.Pos) (sum limit.Pos) {
	for _, p := range r.free {
		if start := limit.Later(p.start, begin); p.end.After(start) {
			sum = rule.Add(sum, rule.Sub(p.end, start))
		}
	}
	return sum
}

// spanBehind is spanAt for returned line in its place, the first on the line first.
func (r *returns) spanBehind(rule *limit.Rule, tat limit.Pos, at int64, length limit.Pos) (end, fresh limit.Pos) {
	begin := limit.At(rule.Begin(at))
	for _, p := range r.free {
		start := limit.Later(p.start, begin)
		if !p.end.After(start) {
			continue
		}
		size := rule.Sub(p.end, start)
		if !length.After(size) {
			return rule.Add(start, length), limit.Pos{}
		}
		length = rule.Sub(length, size)
	}
	return rule.End(tat, at, length), length
}

// takeBehind spends up to length of what lies behind begin, the first on the line first, and says what is left of length.
func (r *returns) takeBehind(rule *limit.Rule, begin, length limit.Pos) (taken []piece, left limit.Pos) {
	var free []piece
	for _, p := range r.free {
		start, end := limit.Later(p.start, begin), p.end
		if length == (limit.Pos{}) || !end.After(start) {
			free = append(free, p)
			continue
		}
		if rule.Sub(end, start).After(length) {
			end = rule.Add(start, length)
		}
		size := rule.Sub(end, start)
		taken = append(taken, piece{start, end})
		r.sum, length = rule.Sub(r.sum, size), rule.Sub(length, size)
		for _, rest := range [...]piece{{p.start, start}, {end, p.end}} {
			if rest.end.After(rest.start) {
				free = append(free, rest)
			}
		}
	}
	if r.free = free; len(free) > r.most() {
		r.giveUpShortest(rule)
	}
	return taken, length
}

// putInPlace takes back an admission while checks wait, as far as its place on the line lies behind begin, and says whether some of it
// does.
func (r *returns) putInPlace(rule *limit.Rule, back *spent, begin limit.Pos, now int64) bool {
	r.cut(rule, begin)
	before := r.sum
	for _, p := range append(back.reuses, back.piece) {
		p.start = limit.Later(p.start, begin)
		r.put(rule, p)
	}
	r.since = now
	return r.sum.After(before)
}
