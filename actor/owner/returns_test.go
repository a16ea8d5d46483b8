package owner_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

func (s *stage) giveBack(r limit.Receipt) bool { return s.owner.Return(r, s.clock(), &s.out) }

// returned and ignored assert whether a return takes effect.
func (s *stage) returned(r limit.Receipt) {
	s.tb.Helper()
	if !s.giveBack(r) {
		s.tb.Fatalf("returning %+v had no effect", r)
	}
}

func (s *stage) ignored(r limit.Receipt) {
	s.tb.Helper()
	before := s.view(r.Limit).Credit
	if s.giveBack(r) {
		s.tb.Fatalf("returning %+v took effect", r)
	}
	if after := s.view(r.Limit).Credit; after != before {
		s.tb.Fatalf("an ignored return moved the credit from %v to %v", before, after)
	}
}

// What is returned can be spent again, without asking a replica, and the receipt says which line is spent again.
func TestReturn(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	first, rest := s.admitted(s.check(3, rule)), s.admitted(s.check(7, rule))
	s.denied(s.check(1, rule))
	s.returned(first)
	if o := s.decision(s.check(0, rule)).Limits[0]; o.Remaining != 3 || o.ResetAfter != 7*time.Second {
		t.Errorf("after the return: %+v", o)
	}
	if o := s.denied(s.check(4, rule)); o.Remaining != 3 || o.RetryAfter != time.Second {
		t.Errorf("more than was returned: %+v", o)
	}
	again := s.admitted(s.check(2, rule))
	if again.Start != rest.End || again.End != rest.End || len(again.Reuses) != 1 ||
		again.Reuses[0] != (limit.Span{Start: start, End: start + 2*second}) {
		t.Errorf("got %+v, want the first two seconds again and nothing else", again)
	}
	s.admitted(s.check(1, rule))
	s.denied(s.check(1, rule))
}

// A receipt is good for one return, whether or not a check has spent the line again since.
func TestReturnTwice(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	r := s.admitted(s.check(5, rule))
	s.admitted(s.check(5, rule))
	s.returned(r)
	s.ignored(r)
	again := s.admitted(s.check(5, rule))
	s.ignored(r)
	s.returned(again) // the line comes back once more, by the receipt of who spent it last
	s.ignored(again)
	s.ignored(r)
	s.admitted(s.check(5, rule))
	s.denied(s.check(1, rule))
}

// A forged receipt, or one of another owner, limit, generation or admission, is ignored.
func TestReturnOfWhatIsNotMine(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.admitted(s.check(1, mustRule(t, "other", 10, 1, time.Second)))
	r := s.admitted(s.check(5, rule))
	s.admitted(s.check(2, rule))
	for name, forge := range map[string]func(*limit.Receipt){
		"another owner":      func(r *limit.Receipt) { r.Owner[0]++ },
		"another limit":      func(r *limit.Receipt) { r.Limit = "other" },
		"another generation": func(r *limit.Receipt) { r.Generation++ },
		"another serial":     func(r *limit.Receipt) { r.Serial++ },
		"a later serial":     func(r *limit.Receipt) { r.Serial = 1 << 50 },
		"a larger span":      func(r *limit.Receipt) { r.End++ },
		"an earlier span":    func(r *limit.Receipt) { r.Start--; r.End-- },
	} {
		forged := r
		forge(&forged)
		if before := s.view("login").Credit; s.giveBack(forged) || s.view("login").Credit != before {
			t.Errorf("%s: took effect", name)
		}
	}
	unknown := r
	unknown.Limit = "unknown"
	if s.giveBack(unknown) {
		t.Error("a limit that the owner does not know: took effect")
	}
	s.returned(r)
}

// A restarted owner, or another one, does not know the receipts of the first.
func TestReturnDiesWithTheOwner(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	r := s.admitted(s.check(10, rule))
	next := s.enter('B')
	next.quick = s.quick
	if next.giveBack(r) {
		t.Error("an owner that knows nothing took a return")
	}
	next.denied(next.check(1, rule))
	if next.giveBack(r) {
		t.Error("another owner took a return")
	}
	next.denied(next.check(1, rule))
}

// Returning what has passed anyway gives nothing: a bucket never holds more than its capacity.
func TestReturnOfWhatHasPassed(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	r := s.admitted(s.check(5, rule))
	s.pass(5 * second)
	s.ignored(r)
	s.admitted(s.check(10, rule))
	s.denied(s.check(1, rule))
}

// A return of which a part has passed gives the rest.
func TestReturnInPart(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	r := s.admitted(s.check(5, rule))
	s.pass(3 * second)
	s.returned(r)
	if c := s.view("login").Credit; c != limit.At(2*second) {
		t.Errorf("credit %v, want the 2 s that have not passed", c)
	}
	got := s.admitted(s.check(10, rule))
	s.denied(s.check(1, rule))
	if length := got.End - got.Start + got.Reuses[0].End - got.Reuses[0].Start; len(got.Reuses) != 1 || length != 10*second {
		t.Errorf("got %+v, of %v in all", got, time.Duration(length))
	}
}

// Credit fades as the bucket fills by itself, whether or not checks come.
func TestCreditFades(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	r := s.admitted(s.check(6, rule))
	s.returned(r)
	s.pass(4 * second)
	if c := s.view("login").Credit; c != limit.At(2*second) {
		t.Errorf("credit %v, want 2 s", c)
	}
	s.pass(2 * second)
	if c := s.view("login").Credit; c != (limit.Pos{}) {
		t.Errorf("credit %v, want none", c)
	}
	got := s.admitted(s.check(10, rule))
	if len(got.Reuses) != 0 {
		t.Errorf("got %+v, want no reuse of line that has passed", got)
	}
	s.denied(s.check(1, rule))
}

// A jump ends the stretch, its credit and its receipts: the line that was skipped belongs to another owner.
func TestJumpEndsCredit(t *testing.T) {
	s := alone(t)
	rule := mustExact(t, "login", 20, 1, time.Second)
	early, late := s.admitted(s.check(4, rule)), s.admitted(s.check(4, rule))
	s.returned(early)
	s.elsewhere(rule, start+12*second)
	got := s.admitted(s.check(5, rule)) // needs more than the credit, and the line beyond is taken
	if got.Start != start+12*second || got.End != start+17*second || len(got.Reuses) != 0 {
		t.Fatalf("got %+v", got)
	}
	if c := s.view("login").Credit; c != (limit.Pos{}) {
		t.Errorf("credit %v after the jump", c)
	}
	s.ignored(early)
	s.ignored(late)
	s.returned(got)
	if c := s.view("login").Credit; c != limit.At(5*second) {
		t.Errorf("credit %v, want the 5 s of the new stretch", c)
	}
	s.admitted(s.check(8, rule))
	s.denied(s.check(1, rule))
}

// Credit spares a jump: what it pays needs no line.
func TestCreditIsSpentFirst(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 20, 1, time.Second)
	r := s.admitted(s.check(8, rule))
	s.returned(r)
	s.elsewhere(rule, start+12*second)
	sends := len(s.sent)
	got := s.admitted(s.check(5, rule))
	s.wantSends(sends)
	if len(got.Reuses) != 1 || got.Reuses[0] != (limit.Span{Start: start, End: start + 5*second}) {
		t.Errorf("got %+v", got)
	}
}

// The owner remembers the newest receipts; older ones are acknowledged without effect.
func TestOldReceiptsAreForgotten(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10_000, 1, time.Hour)
	var receipts []limit.Receipt
	for range owner.MaxReceipts + 10 {
		receipts = append(receipts, s.admitted(s.check(1, rule)))
	}
	for i, r := range receipts {
		if i < 10 {
			s.ignored(r)
		} else {
			s.returned(r)
		}
	}
	if c := s.view("login").Credit; c != limit.At(owner.MaxReceipts*hour) {
		t.Errorf("credit %v", c)
	}
	got := s.admitted(s.check(1000, rule))
	if want := (limit.Span{Start: receipts[10].Start, End: receipts[1009].End}); len(got.Reuses) != 1 || got.Reuses[0] != want {
		t.Errorf("%+v were spent again, want the one piece %+v", got.Reuses, want)
	}
	s.returned(got)
}

// A check that asks for no receipt cannot be returned, and one that is denied or costs nothing gives none.
func TestNoReceipt(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.owner.Check(owner.Check{Tag: "no receipt", At: s.now, Deadline: s.now + hour, Rules: []*limit.Rule{rule}, Cost: 5}, &s.out)
	s.after()
	d := s.answers[0].Decision
	if !d.Allowed || d.Receipts != nil {
		t.Fatalf("got %+v", d)
	}
	if s.giveBack(limit.Receipt{Limit: "login", Owner: s.name, Span: limit.Span{Start: start, End: start + 5*second}}) {
		t.Error("the return of an admission without a receipt took effect")
	}
	if d := s.decision(s.check(0, rule)); d.Receipts != nil {
		t.Errorf("a peek gave %+v", d.Receipts)
	}
	if d := s.decision(s.check(6, rule)); d.Receipts != nil {
		t.Errorf("a denial gave %+v", d.Receipts)
	}
}

// A receipt of other numbers is without effect, and what had come back under them is given up: what it would give back are
// not tokens of the limit as it is now. A change of anything else changes nothing.
func TestReturnAfterAChange(t *testing.T) {
	before := mustRule(t, "login", 10, 1, time.Second)
	same := *before
	same.OnUnavailable = limit.Deny
	for name, c := range map[string]struct {
		after *limit.Rule
		same  bool
	}{
		"capacity":      {after: mustRule(t, "login", 20, 1, time.Second)},
		"refill":        {after: mustRule(t, "login", 10, 2, time.Second)},
		"fractions":     {after: mustRule(t, "login", 20, 3, 7*time.Second)},
		"not a number":  {after: &same, same: true},
		"nothing":       {after: before, same: true},
		"another value": {after: mustRule(t, "login", 10, 1, time.Second), same: true},
	} {
		s := alone(t)
		r, back := s.admitted(s.check(2, before)), s.admitted(s.check(2, before))
		s.returned(back)
		s.decision(s.check(0, c.after))
		if credit := s.view("login").Credit; (credit != limit.Pos{}) != c.same {
			t.Errorf("%s: credit %v after the change", name, credit)
		}
		if got := s.giveBack(r); got != c.same {
			t.Errorf("%s: a return takes effect is %v", name, got)
		}
		s.returned(s.admitted(s.check(1, c.after)))
	}
}

// Pieces of thirds of nanoseconds are spent again without a loss: disjointness is exact, lengths to the nanosecond.
func TestReturnsOfFractions(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "thirds", 10, 3, 10)
	var receipts []limit.Receipt
	for range 10 {
		receipts = append(receipts, s.admitted(s.check(1, rule)))
	}
	s.denied(s.check(1, rule))
	for _, i := range []int{7, 2, 5} {
		s.returned(receipts[i])
	}
	got := s.admitted(s.check(3, rule))
	s.denied(s.check(1, rule))
	want := []limit.Span{receipts[2].Span, receipts[5].Span, receipts[7].Span}
	if len(got.Reuses) != 3 || got.Reuses[0] != want[0] || got.Reuses[1] != want[1] || got.Reuses[2] != want[2] {
		t.Errorf("got %+v, want the pieces %+v", got.Reuses, want)
	}
	if got.Start != got.End {
		t.Errorf("fresh line %+v was spent", got.Span)
	}
}

// A check that was waiting when a receipt came back was read before it: at its time the bucket was as empty as it was.
func TestReturnComesTooLateForAWaitingCheck(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 3, 1, time.Second)
	first := s.admitted(s.check(2, rule))
	s.quick = nil
	early := s.check(1, rule)
	s.elsewhere(rule, start+3*second) // another owner was quicker: at the start, 3 of 3 tokens are spent
	s.pass(second)
	s.returned(first)
	late := s.check(1, rule)
	s.quick = []int{0}
	s.deliver(0)
	s.denied(early)
	if r := s.admitted(late); len(r.Reuses) != 1 {
		t.Errorf("got %+v, want the returned line", r)
	}
}

// Once the bucket has been full, the tokens of a receipt have come back by themselves. A key that is busy enough never
// breaks its stretch of line, and its receipts are worthless all the same.
func TestReturnAfterTheBucketWasFull(t *testing.T) {
	s := alone(t)
	s.cfg.Busy = 1 // it reserves ahead, so that it never begins anew
	rule := mustRule(t, "hot", 100, 1000, time.Second)
	var early []limit.Receipt
	for range 5 {
		early = append(early, s.admitted(s.check(10, rule)))
	}
	for range 60 {
		s.pass(2 * ms)
		s.admitted(s.check(1, rule))
	}
	if hi := s.view("hot").Hi; hi <= s.now {
		t.Fatalf("the key holds no line: up to %d", hi-s.now)
	}
	last := s.admitted(s.check(90, rule))
	for _, r := range early {
		s.ignored(r)
	}
	s.returned(last)
}

// The bucket is full too when everything has come back by receipts.
func TestReturnAfterAllCameBack(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	a, b := s.admitted(s.check(4, rule)), s.admitted(s.check(3, rule))
	s.pass(3 * second)
	s.returned(a) // 4 s and 3 s: the bucket is full
	c := s.admitted(s.check(5, rule))
	s.ignored(b)
	s.returned(c)
}

// A caller cannot compute another's receipt from its own: a serial reveals neither the next one nor the one before.
func TestReceiptsCannotBeComputed(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 500_000, 1, time.Hour)
	seen := map[uint64]bool{}
	before := s.admitted(s.check(1, rule))
	for range 40 {
		r := s.admitted(s.check(1, rule))
		if r.Serial-before.Serial < 1<<20 || before.Serial-r.Serial < 1<<20 || seen[r.Serial] {
			t.Fatalf("the serial %d comes after %d", r.Serial, before.Serial)
		}
		seen[r.Serial] = true
		guess := before // its span adjoins r's, and its place in the memory is one before
		for place := range uint64(owner.MaxReceipts) {
			guess.Serial = r.Serial&^(owner.MaxReceipts-1) | place
			s.ignored(guess)
		}
		before = r
	}
}

// Pieces that touch become one, in whatever order they come back; what was given back is all spent again.
func TestPiecesAreJoined(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		s := alone(t)
		rule := mustRule(t, "login", 300, 3, 10*time.Hour)
		var receipts []limit.Receipt
		for range 200 {
			receipts = append(receipts, s.admitted(s.check(1, rule)))
		}
		for _, i := range random.Perm(200)[:max(1, random.IntN(200))] {
			s.returned(receipts[i])
		}
		for range random.IntN(20) {
			s.admitted(s.check(random.Int64N(5), rule))
		}
		for _, r := range receipts {
			s.giveBack(r)
		}
		left := s.decision(s.check(0, rule)).Limits[0].Remaining
		got := s.admitted(s.check(left, rule))
		if len(got.Reuses) > owner.MaxPieces {
			t.Errorf("%d pieces were spent again by one check", len(got.Reuses))
		}
		s.denied(s.check(1, rule))
	}
}

// However a caller spends and returns, a bucket keeps few pieces, and each operation costs about the same: what does not
// fit is given up, the shortest first.
func TestPiecesAreBounded(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 500_000, 1, time.Hour)
	for range 20 {
		var receipts []limit.Receipt
		for range owner.MaxReceipts {
			receipts = append(receipts, s.admitted(s.check(2, rule)))
		}
		for i := 0; i < len(receipts); i += 2 {
			s.returned(receipts[i])
			if most := limit.At(owner.MaxPieces * 2 * hour); s.view("login").Credit.After(most) {
				t.Fatalf("credit %v, want at most %v", s.view("login").Credit, most)
			}
		}
		got := s.admitted(s.check(2*owner.MaxPieces, rule))
		if len(got.Reuses) != owner.MaxPieces {
			t.Errorf("%d pieces were spent again, want %d", len(got.Reuses), owner.MaxPieces)
		}
		s.answers, s.sent, s.post = nil, nil, nil
	}
}

// What comes back of a window that has ended is nothing in the next one, also where a check that waited for that has begun it.
func TestReturnOfAnEarlierWindow(t *testing.T) {
	s := alone(t)
	rule := ruleWithWait(t, limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 5, Window: 10 * time.Second}, 30*time.Second)
	s.pass(10*second - start%(10*second) + 4*second)
	first := s.admitted(s.check(5, rule))
	s.begins(s.checkWait(10*time.Second, 2, rule), 6*time.Second)
	s.pass(6 * second)
	s.admitted(s.check(3, rule))
	s.ignored(first)
	s.denied(s.check(1, rule))
}
