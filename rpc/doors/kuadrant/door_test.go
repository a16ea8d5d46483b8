package kuadrant_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb/kuadrantpb"
)

const alice = "method=GET user=alice"

// A check takes nothing, whatever its hits_addend; a report charges, 1 if it says nothing, and more than is left takes what is left.
func TestCheckAndReport(t *testing.T) {
	r := ofLimits(t, one("10"))
	for range 20 {
		r.check(ok, alice)
	}
	r.report(0, alice)
	r.left(9, alice)
	r.report(4, alice)
	r.left(5, alice)
	r.report(20, alice)
	r.check(over, alice)
	r.reserve(over, 0, alice)
	r.check(ok, "method=GET user=bob")
	r.check(ok, "method=POST user=alice")
	r.check(ok, "user=alice")
	r.check(ok)
	r.report(1, "method=POST user=alice")
	if n := r.count("jeton_door_kuadrant_calls_total", "call=check answer=over_limit"); n != 1 {
		t.Errorf("%v checks are counted as over", n)
	}
	if n := r.count("jeton_door_kuadrant_limited_total", "namespace=ns limit=tokens"); n != 4 {
		t.Errorf("%v denials are counted", n)
	}
}

// What Limitador's tests say of its calls.
func TestCallsOfLimitador(t *testing.T) {
	r := ofLimits(t, `
- {namespace: ns, max_value: 10, seconds: 60, conditions: ["descriptors[0].x == '1'"], variables: ['descriptors[0].z']}
- {namespace: ns, max_value: 0, seconds: 60, name: never, conditions: ["descriptors[0].x == '1'", "descriptors[1].y == '2'"], variables: ['descriptors[0].z']}
`)
	r.check(ok, "x=1 z=1")
	r.check(over, "x=1 z=1", "y=2") // all descriptors count
	r.reserve(over, 0, "x=1 z=1", "y=2")
	r.reserve(over, 1, "x=1 z=1", "y=2")
	r.report(3, "x=1 z=1", "y=2") // a limit of 0 has nothing to take
	r.check(over, "x=1 z=1", "y=2")
	ctx := t.Context()
	for domain, want := range map[string]ratelimitv3.RateLimitResponse_Code{"": unknown, "elsewhere": ok} {
		d := descriptors("x=1 z=1", "y=2")
		c, err := r.client.CheckRateLimit(ctx, &ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: d})
		p, err2 := r.client.Report(ctx, &ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: d})
		v, err3 := r.client.Reserve(ctx, &kuadrantpb.ReserveRequest{Domain: domain, Descriptors: d, Amount: 1})
		m, err4 := r.client.Commit(ctx, &kuadrantpb.CommitRequest{Domain: domain, Descriptors: d, ReservationId: "some-id", ActualAmount: 1})
		for _, err := range []error{err, err2, err3, err4} {
			if err != nil {
				t.Errorf("domain %q: %v", domain, err)
			}
		}
		if c.GetOverallCode() != want || p.GetOverallCode() != want || v.GetCode() != want || (v.GetReservationId() != "") != (want == ok) || m.GetReservationReleased() {
			t.Errorf("domain %q: %v, %v, %v, %v", domain, c, p, v, m)
		}
	}
}

// A reservation holds its amount until a commit says what was used: less comes back, more is charged, and once.
func TestReserveAndCommit(t *testing.T) {
	r := ofLimits(t, one("10"))
	id := r.reserve(ok, 6, alice)
	r.reserve(over, 6, alice)
	r.commit(true, id, 2, alice)
	r.left(8, alice)
	for range 3 {
		r.commit(true, id, 2, alice)
	}
	r.commit(true, id, 9, alice) // the first one counts
	r.left(8, alice)

	more := r.reserve(ok, 1, alice)
	for range 2 {
		r.commit(true, more, 4, alice)
	}
	r.left(4, alice)

	all := r.reserve(ok, 4, alice)
	r.check(over, alice)
	r.reserve(over, 0, alice)
	r.commit(true, all, 5_000, alice) // all that is there
	r.check(over, alice)
	r.reserve(over, 11, "method=GET user=bob")
	r.reserve(over, 1<<63, "method=GET user=bob")
	r.left(10, "method=GET user=bob")
}

// Where nothing was reserved, or the id is no door's, a commit charges as a report does. One of an own id charges once.
func TestCommitWithoutAHold(t *testing.T) {
	r := ofLimits(t, one("100"))
	r.commit(false, "never-reserved", 3, alice)
	r.commit(false, "", 3, alice)
	r.left(94, alice)
	nothing := r.reserve(ok, 0, alice)
	for range 3 {
		r.commit(false, nothing, 4, alice)
	}
	r.left(90, alice)
	id := r.reserve(ok, 5, alice)
	for _, wrong := range []string{id[:len(id)-1], id + "A", id + ".", "x" + id, strings.ToUpper(id), strings.Replace(id, ".", "..", 1), "jeton-1.a.b", strings.Repeat("jeton-1.", 100_000)} {
		r.commit(false, wrong, 0, alice)
		r.commit(false, wrong, 1, alice)
	}
	r.left(77, alice)
	r.commit(true, id, 1<<64-1, alice)
	r.check(over, alice)
	r.commit(false, "never-reserved", 1<<64-1, "method=GET user=bob")
	r.check(over, "method=GET user=bob")
}

// Limits with the same conditions are held together, as those with others are: all of them or none.
func TestAllOrNone(t *testing.T) {
	r := ofLimits(t, `
- {namespace: ns, max_value: 10, seconds: 60, name: minute, conditions: [], variables: []}
- {namespace: ns, max_value: 5, seconds: 31536000, name: year, conditions: [], variables: []}
- {namespace: ns, max_value: 4, seconds: 31536000, name: others, conditions: ["descriptors[0].a == '1'"], variables: []}
`)
	r.reserve(over, 6)
	r.reserve(over, 5, "a=1")
	r.left(5)
	id := r.reserve(ok, 4, "a=1")
	r.reserve(over, 1, "a=1")
	r.left(1)
	r.commit(true, id, 1, "a=1")
	r.left(3, "a=1")
	r.left(4)
	r.report(2)
	r.left(2, "a=1")
}

// A reservation of one door is committed at another, of the same cluster.
func TestReservationsAreSharedByDoors(t *testing.T) {
	n, path := openNode(t), write(t, one("10"))
	a, b := newRig(t, n, path), newRig(t, n, path)
	id := a.reserve(ok, 7, alice)
	b.left(3, alice)
	b.commit(true, id, 2, alice)
	a.commit(true, id, 2, alice)
	a.left(8, alice)
	b.left(8, alice)
}

// A commit that has other limits than its reservation, since the files have changed, settles what is held, and charges the others.
func TestCommitAfterAChange(t *testing.T) {
	n := openNode(t)
	before, after := newRig(t, n, write(t, one("10"))), newRig(t, n, write(t, one("10")+"- {namespace: ns, max_value: 10, seconds: 31536000, conditions: [], variables: []}\n"))
	id := before.reserve(ok, 7, alice)
	for range 2 {
		after.commit(true, id, 2, alice)
	}
	before.left(8, alice)
	after.left(8)
}

// What a stranger sends is bounded, and answered with the field.
func TestInvalidRequests(t *testing.T) {
	r := ofLimits(t, one("10"))
	many := descriptors("a=1")
	for len(many) < 10_000 {
		many = append(many, many[0])
	}
	entries := descriptors(strings.Repeat("a=1 ", 101))
	for name, test := range map[string]struct {
		request *ratelimitv3.RateLimitRequest
		code    codes.Code
		says    string
	}{
		"many descriptors": {&ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: many}, codes.InvalidArgument, "descriptors: 10000 are too many: at most 1000"},
		"many entries":     {&ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: entries}, codes.InvalidArgument, "descriptors[0].entries: 101 are too many: at most 100"},
		"a long value":     {&ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors("a=" + strings.Repeat("x", 1<<16+1))}, codes.InvalidArgument, "descriptors[0].entries[0]: a key or a value has at most 65536 bytes"},
		"a long domain":    {&ratelimitv3.RateLimitRequest{Domain: strings.Repeat("x", 1<<16+1)}, codes.InvalidArgument, "domain: 65537 bytes are too many"},
		"long values":      {&ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors(strings.Repeat("a="+strings.Repeat("x", 1<<15)+" ", 50))}, codes.InvalidArgument, "more than 1048576 bytes"},
		"a field too many": {&ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors(strings.Repeat("= ", 500_000))}, codes.Internal, "more than 400000 fields"},
	} {
		_, err := r.client.CheckRateLimit(t.Context(), test.request)
		_, err2 := r.client.Reserve(t.Context(), &kuadrantpb.ReserveRequest{Domain: test.request.GetDomain(), Descriptors: test.request.GetDescriptors(), Amount: 1})
		for _, err := range []error{err, err2} {
			if status.Code(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v, want %v with %q", name, err, test.code, test.says)
			}
		}
	}
	r.left(10, alice)
}

// An expression that has no value decides nothing.
func TestExpressionThatFails(t *testing.T) {
	r := ofLimits(t, "- {namespace: ns, max_value: 1, seconds: 60, name: numbers, conditions: ['int(descriptors[0].n) > 3'], variables: []}\n")
	_, err := r.client.CheckRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors("n=many")})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "limit numbers") {
		t.Errorf("%v", err)
	}
	r.check(ok, "m=1")
	r.check(ok, "n=5")
}

// Files that are wrong decide nothing, and say what is wrong; when they are right they are in force, and stay so when they are wrong again.
func TestFilesAreFollowed(t *testing.T) {
	path := write(t, "- {namespace: ns\n")
	r := newRig(t, openNode(t), path)
	following := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(following); r.door.Run(ctx) }()
	defer func() { cancel(); <-following }()
	_, err := r.client.CheckRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors(alice)})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no limits are in force: "+path+":") {
		t.Errorf("%v", err)
	}
	put(t, path, one("0"))
	r.eventually(func() bool { return r.code(alice) == over })
	put(t, path, one("x"))
	r.eventually(func() bool { return r.count("jeton_door_kuadrant_configuration_refused", "") == 1 })
	if r.code(alice) != over {
		t.Error("what was in force is not")
	}
	put(t, path, one("10"))
	r.eventually(func() bool { return r.code(alice) == ok })
}

func (r *rig) code(texts ...string) ratelimitv3.RateLimitResponse_Code {
	ctx, cancel := r.minute()
	defer cancel()
	got, _ := r.client.CheckRateLimit(ctx, &ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors(texts...)})
	return got.GetOverallCode()
}

// eventually waits until something is so.
func (r *rig) eventually(is func() bool) {
	r.tb.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(5 * time.Minute); !is(); <-ticker.C {
		if time.Now().After(end) {
			r.tb.Fatal("it never came to that")
		}
	}
}

// Many reserve at once, at two doors, and never more than there is.
func TestManyReserveAtOnce(t *testing.T) {
	n, path := openNode(t), write(t, one("10"))
	rigs := []*rig{newRig(t, n, path), newRig(t, n, path)}
	ids := make(chan string, 100)
	var all sync.WaitGroup
	for i := range cap(ids) {
		all.Go(func() {
			ctx, cancel := rigs[i%2].minute()
			defer cancel()
			got, err := rigs[i%2].client.Reserve(ctx, &kuadrantpb.ReserveRequest{Domain: "ns", Descriptors: descriptors(alice), Amount: 1})
			if err != nil {
				t.Error(err)
			}
			if got.GetCode() == ok {
				ids <- got.GetReservationId()
			}
		})
	}
	all.Wait()
	close(ids)
	if len(ids) != 10 {
		t.Errorf("%d of %d reservations hold one of 10", len(ids), cap(ids))
	}
	for id := range ids {
		all.Go(func() { rigs[1].commit(true, id, 0, alice) })
		all.Go(func() { rigs[0].commit(true, id, 0, alice) })
	}
	all.Wait()
	rigs[0].left(10, alice)
}
