package rpc

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// observed makes an Observed.
func observed(t *testing.T, cfg ObservedConfig) *Observed {
	t.Helper()
	o, err := NewObserved(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A failing decides nothing: a key is the error of its checks.
type failing struct {
	conformance.Stub
	errs map[string]error
}

func (f failing) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	return limit.Decision{Allowed: true}, f.errs[r.Key]
}

func (f failing) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := make([]limit.Result, len(rs))
	for i, r := range rs {
		results[i].Decision, results[i].Err = f.Check(ctx, r)
	}
	return results
}

func (f failing) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	for i := range rs {
		if _, err := f.Check(ctx, rs[i]); err != nil {
			return limit.AllDecision{}, err
		}
	}
	return limit.AllDecision{Allowed: true}, nil
}

// An undecidedRig is an Observed that fails by key, and what it is to have counted.
type undecidedRig struct {
	*Observed

	errs map[string]error
	want map[string]map[string]float64
}

// ofErrors are the codes of the errors that count, by key.
var ofErrors = map[string]string{"down": "Unavailable", "slow": "DeadlineExceeded", "wrong": "InvalidArgument"}

func newUndecidedRig(t *testing.T) *undecidedRig {
	t.Helper()
	doc, err := limit.ParseDocument([]byte("limits:\n  login: {capacity: 10, refill: 1/s}\n  daily: {capacity: 10, refill: 1/s}\n"))
	if err != nil {
		t.Fatal(err)
	}
	u := &undecidedRig{want: map[string]map[string]float64{}, errs: map[string]error{
		"down": fmt.Errorf("%w: no majority", limit.ErrUnavailable), "slow": context.DeadlineExceeded,
		"wrong": &limit.FieldError{Field: "key", Problem: "x"}, "gone": fmt.Errorf("asking: %w", context.Canceled),
	}}
	u.Observed = observed(t, ObservedConfig{Limiter: failing{errs: u.errs}, Limits: func() *limit.Document { return doc }})
	return u
}

// request is a check of any key, by any of the limits.
func (u *undecidedRig) request(random *rand.Rand) (r limit.Request) {
	keys := []string{"down", "slow", "wrong", "gone", "well"}
	r.Key = keys[random.IntN(len(keys))]
	for _, ref := range []limit.Ref{limit.Named("login"), limit.Named("daily"), limit.Named("gone-since"), limit.Inline(limit.Limit{Name: "login"})} {
		if random.IntN(2) == 0 {
			r.Limits = append(r.Limits, ref)
		}
	}
	return r
}

// expect expects a check to count that fails as key does.
func (u *undecidedRig) expect(r *limit.Request, key string) {
	code, counts := ofErrors[key]
	for _, ref := range r.Limits {
		name := map[string]string{"gone-since": "(unknown)"}[ref.Name]
		switch {
		case ref.Inline != nil:
			name = "(inline)"
		case name == "":
			name = ref.Name
		}
		if counts && u.want[name] == nil {
			u.want[name] = map[string]float64{}
		}
		if counts {
			u.want[name][code]++
		}
	}
}

// TestUndecided counts checks that get an error, by limit and code, in whatever form they are asked: none twice, and none that was forwarded, that
// its caller gave up, or that has a decision.
func TestUndecided(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	u := newUndecidedRig(t)
	for range 500 {
		ctx, expect := t.Context(), u.expect
		if random.IntN(4) == 0 {
			ctx = withMarks(metadata.NewIncomingContext(ctx, metadata.Pairs(pb.MarkRouted, "1", pb.MarkForwarded, "1")))
			expect = func(*limit.Request, string) {}
		}
		rs := []limit.Request{u.request(random), u.request(random)}
		switch random.IntN(3) {
		case 0:
			_, _ = u.Check(ctx, rs[0])
			expect(&rs[0], rs[0].Key)
		case 1:
			u.CheckBatch(ctx, rs)
			for i := range rs {
				expect(&rs[i], rs[i].Key)
			}
		case 2:
			_, _ = u.CheckAll(ctx, rs)
			first := rs[0].Key
			if u.errs[first] == nil {
				first = rs[1].Key
			}
			for i := range rs {
				expect(&rs[i], first)
			}
		}
	}
	if got := u.Undecided(); !maps.EqualFunc(got, u.want, maps.Equal[map[string]float64, map[string]float64]) {
		t.Errorf("counted %v, want %v", got, u.want)
	}
}

// TestUndecidedOfStreams counts each check of a stream that gets an error once, traced or not.
func TestUndecidedOfStreams(t *testing.T) {
	u := newUndecidedRig(t)
	_, conn := serve(t, Config{Limiter: u.Observed})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]float64{"(unknown)": {}}
	for i, key := range []string{"down", "well", "wrong", "down"} {
		check := checkMessage(key)
		if err := stream.Send(&pb.CheckStreamRequest{Checks: []*pb.StreamCheck{{Id: uint64(i), Check: check}}}); err != nil {
			t.Fatal(err)
		}
		if code := ofErrors[key]; code != "" {
			want["(unknown)"][code]++
		}
	}
	for answers := 0; answers < 4; {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		answers += len(m.GetResults())
	}
	if got := u.Undecided(); !maps.EqualFunc(got, want, maps.Equal[map[string]float64, map[string]float64]) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// A held decides nothing until it may.
type held struct {
	failing
	may chan struct{}
}

func (h held) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if r.Key != "well" {
		<-h.may
	}
	return h.failing.Check(ctx, r)
}

// TestUndecidedThatWasGivenUp does not count a check of a stream that its caller gave up before it failed, such as one that another node has decided
// meanwhile.
func TestUndecidedThatWasGivenUp(t *testing.T) {
	u := newUndecidedRig(t)
	h := held{failing{errs: u.errs}, make(chan struct{})}
	o := observed(t, ObservedConfig{Limiter: h})
	_, conn := serve(t, Config{Limiter: o})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*pb.CheckStreamRequest{
		{Checks: []*pb.StreamCheck{{Id: 1, Check: checkMessage("down")}, {Id: 2, Check: checkMessage("down")}}},
		{GivenUp: []uint64{1}, Checks: []*pb.StreamCheck{{Id: 3, Check: checkMessage("well")}}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	for answers := 0; answers < 3; {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if answers == 0 { // to the last one: the others wait
			close(h.may)
		}
		answers += len(m.GetResults())
	}
	if got := o.Undecided()["(unknown)"]["Unavailable"]; got != 1 {
		t.Errorf("%v are counted, want that which was not given up", got)
	}
}
