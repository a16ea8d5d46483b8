package main

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/rpc"
)

// answering is the address of a gRPC server that asks l, until the test ends.
func answering(t *testing.T, l limit.Limiter) string {
	t.Helper()
	s, err := rpc.New(rpc.Config{Limiter: l})
	if err != nil {
		t.Fatal(err)
	}
	at, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(at) }()
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return at.Addr().String()
}

// holder grants half of what is held, up to 100, of the keys that it is asked for. It knows no hold of the key gone, and of others what
// their keys say.
func holder(t *testing.T) string {
	t.Helper()
	return answering(t, conformance.Stub{
		OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
			if err := r.Validate(); err != nil {
				return limit.Decision{}, err
			}
			if r.Hold > time.Hour {
				return limit.Decision{}, &limit.FieldError{Field: "hold", Problem: `2h is longer than limit "tokens" allows: at most 1h`}
			}
			if r.Limits[0].Name == "nope" {
				return limit.Decision{}, limit.ErrUnknownLimit
			}
			d := limit.Decision{Allowed: r.Cost <= 100}
			for _, ref := range r.Limits {
				d.Limits = append(d.Limits, limit.Outcome{Name: ref.Name, Allowed: d.Allowed, Limit: 100, Remaining: 50, Plan: r.Plan, RetryAfter: time.Minute})
			}
			if d.Allowed && r.Key != "old" {
				d.Hold = &limit.Hold{Key: r.Key, Granted: max(r.Cost/2, r.Least), Limits: []limit.Held{{Limit: "tokens", ID: 7}}}
			}
			return d, nil
		},
		OnSettle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
			l := limit.SettledLimit{Name: "tokens", State: limit.HoldState(s.Hold.Key), Charged: s.Used, Returned: max(s.Hold.Granted-s.Used, 0), Debt: max(s.Used-s.Hold.Granted, 0)}
			switch {
			case s.Hold.Key == "gone":
				return limit.Settled{}, limit.ErrUnknownHold
			case s.Hold.Key == "none":
				return limit.Settled{}, nil
			case s.For > time.Hour:
				return limit.Settled{}, &limit.FieldError{Field: "hold", Problem: `2h is longer than limit "tokens" allows: at most 1h`}
			case s.Hold.Key == "bounded":
				l.State, l.Charged, l.Debt = limit.HoldSettled, 60, 10
			case s.Open:
				l.Until = conformance.Noon().Add(s.For).UnixNano()
			}
			return limit.SumSettled([]limit.SettledLimit{l}), nil
		},
	})
}

// heldBuckets are those of limits that take holds and that take none.
func heldBuckets(t *testing.T) string {
	t.Helper()
	return answering(t, conformance.Stub{
		OnInspect: func(_ context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
			l := limit.Limit{Name: ref.Name, Capacity: 100, Refill: limit.Refill{Tokens: 100, Per: time.Minute}, Holds: limit.Holds{Longest: time.Minute}}
			in := limit.Inspection{Key: key, Plan: plan, Now: conformance.Noon().UnixNano(), Debt: 3}
			switch ref.Name {
			case "nope":
				return limit.Inspection{}, limit.ErrUnknownLimit
			case "plain":
				l.Holds, in.Debt = limit.Holds{}, 0
			default:
				in.Holds = &limit.HoldsSeen{}
			}
			if key == "unseen" {
				in.Debt, in.Registers = 0, []limit.Stored{{Node: "node-1"}}
			} else if key != "idle" && in.Holds != nil {
				until := conformance.Noon().Add(41 * time.Second).UnixNano()
				*in.Holds = limit.HoldsSeen{Open: 1, Tokens: 30, Expires: until, Total: 2, List: []limit.SeenHold{
					{ID: 0xab, State: limit.HoldOpen, Amount: 30, Used: 5, Until: until}, {ID: 1, State: limit.HoldSettled, Amount: 3, Used: 2, Until: until},
				}}
			}
			var err error
			in.Rule, err = l.Rule()
			return in, err
		},
	})
}

func TestHoldsVerb(t *testing.T) {
	env := map[string]string{"JETON_SERVER": heldBuckets(t)}
	for _, tt := range []holdCase{
		{"holds tokens k", 0, "hold              state    held  used  expires in\n00000000000000ab  open     30    5     41s\n0000000000000001  settled  3     2     –\n"},
		{"holds tokens k", 0, "tokens: 30 tokens held by 1 open hold, the first expires in 41s; 1 more expired, settled or lost\n"},
		{"holds tokens k", 0, "tokens: 3 tokens more were charged than the bucket had\n"},
		{"bucket tokens k", 0, "  holds        30 tokens held by 1 open hold, the first expires in 41s"},
		{"bucket tokens k", 0, "  debt         3 tokens more"},
		{"holds tokens idle", 0, "tokens: none\n"},
		{"holds plain k", 0, "limit plain takes no holds"},
		{"holds tokens k --plan pro", 0, "open     30"},
		{"holds tokens k --output json", 0, `{"limit":"tokens","key":"k","now_ns":"`},
		{"holds tokens k --output json", 0, `"debt":3,"holds":{"open":1,"tokens":30,"expires_ns":"`},
		{"holds tokens k --output json", 0, `"list":[{"id":"00000000000000ab","state":"open","amount":30,"used":5,"until_ns":"`},
		{"holds tokens idle --output json", 0, `"holds":{"open":0,"tokens":0,"total":0,"list":[]}`},
		{"holds plain k --output json", 0, `"debt":0,"holds":null}`},
		{"holds tokens unseen", 0, "tokens: nothing is known of this key"},
		{"holds tokens unseen --output json", 0, `"unknown":true,"debt":0,"holds":{"open":0`},
		{"bucket tokens k --output json", 0, `"holds":{"open":1,"tokens":30,`},
		{"holds nope k", 2, "unknown limit: jeton limits get shows those that there are"},
		{"holds tokens", 2, "KEY is missing: use jeton holds LIMIT KEY"},
		{"holds tokens k other", 2, `"other" is one argument too many`},
		{"holds tokens k --fill", 2, "unknown option --fill"},
	} {
		tt.try(t, env)
	}
}

func idOf(key string) string {
	return limit.Hold{Key: key, Granted: 50, Limits: []limit.Held{{Limit: "tokens", ID: 7}}}.String()
}

// A holdCase is a command line, its exit code, and what it says: in stdout, or in stderr if the code is 2.
type holdCase struct {
	args string
	code int
	want string
}

func (c *holdCase) try(t *testing.T, env map[string]string) {
	t.Helper()
	stdout, stderr, code := jeton(t, env, strings.Fields(c.args)...)
	said := stdout
	if c.code == cli.ExitError {
		said = stderr
	}
	if code != c.code || !strings.Contains(said, c.want) {
		t.Errorf("jeton %s: exit code %d, %q, %q; want %d and %q", c.args, code, stdout, stderr, c.code, c.want)
	}
}

func TestHoldVerb(t *testing.T) {
	env := map[string]string{"JETON_SERVER": holder(t)}
	for _, tt := range []holdCase{
		{"hold tokens k --cost 100 --for 60s", 0, "allowed tokens: 50 of 100 left"},
		{"hold tokens open --cost 100 --for 60s", 0, "granted 50\nhold    " + idOf("open") + "\n"},
		{"hold tokens k --cost 60 --least 40 --for 60s", 0, "granted 40\n"},
		{"hold tokens,per-day k --cost 60 --for 60s", 0, "allowed per-day: 50 of 100 left"},
		{"hold tokens k --cost 60 --for 60s --plan pro", 0, "by plan pro"},
		{"hold tokens k --cost 101 --for 60s", 1, "denied  tokens: 50 of 100 left; try again in"},
		{"hold tokens k --cost 101 --for 60s --output json", 1, `"allowed":false`},
		{"hold tokens open --cost 100 --for 60s --output json", 0, `"hold":"` + idOf("open") + `","granted":50`},
		{"hold tokens k", 2, "--for is missing: say how long to hold, as in jeton hold tokens user:42 --cost 3000 --for 60s"},
		{"hold tokens k --for 0s", 2, "--for: 0s is not after now: give a time such as 60s"},
		{"hold tokens k --for 60", 2, `--for: "60" is not a duration`},
		{"hold tokens k --for 999ms", 2, "--for: 999ms is too short: at least 1s"},
		{"hold tokens k --for 2h", 2, `--for: 2h is longer than limit "tokens" allows: at most 1h`},
		{"hold tokens k --for 60s --cost 0", 2, "--cost: 0: use 1 or more tokens"},
		{"hold tokens k --for 60s --cost -1", 2, "--cost: -1: use 1 or more tokens"},
		{"hold tokens k --for 60s --cost 9223372036854775807", 2, "--cost: 9223372036854775807 is too much for a hold"},
		{"hold tokens k --for 60s --cost 5 --least 6", 2, "--least: 6 is not from 1 to the cost, 5"},
		{"hold tokens k --for 60s --least -1", 2, "--least: -1 is not from 1 to the cost, 1"},
		{"hold tokens k --for 60s --plan None!", 2, "--plan: "},
		{"hold nope k --for 60s", 2, "unknown limit: jeton limits get shows those that there are"},
		{"hold tokens", 2, "KEY is missing: use jeton hold LIMIT[,LIMIT…] KEY"},
		{"hold tokens k other", 2, `"other" is one argument too many`},
		{"hold tokens,tokens k --for 60s", 2, "named twice"},
		{"hold tokens old --for 60s", 2, "the node answered without a hold"},
		{"hold tokens k --for 60s --wait 1s", 2, "unknown option --wait"},
	} {
		tt.try(t, env)
	}
}

// at is a time after noon as it is printed.
func at(after time.Duration) string { return conformance.Noon().Add(after).UTC().Format(time.RFC3339) }

func TestSettleVerb(t *testing.T) {
	env := map[string]string{"JETON_SERVER": holder(t)}
	for _, tt := range []holdCase{
		{"settle " + idOf("settled") + " --cost 20", 0, "settled tokens: 20 charged, 30 returned\n"},
		{"settle " + idOf("settled") + " --cost 0", 0, "settled tokens: 0 charged, 50 returned\n"},
		{"settle " + idOf("open") + " --cost 20 --open", 0, "open    tokens: 20 charged, 30 returned; until " + conformance.Noon().UTC().Format(time.RFC3339)},
		{"settle " + idOf("open") + " --cost 20 --open --for 60s", 0, "until " + conformance.Noon().Add(time.Minute).UTC().Format(time.RFC3339)},
		{"settle " + idOf("expired") + " --cost 20 --open --for 60s", 0, "expired tokens: 20 charged, 30 returned; it expired at " + at(time.Minute) +
			" and lasts no longer: until " + at(11*time.Minute) + " a settlement for good corrects it\n"},
		{"settle " + idOf("settled") + " --cost 70", 0, "settled tokens: 70 charged, 0 returned; 20 in debt\n"},
		{"settle " + idOf("bounded") + " --cost 9000", 0, "settled tokens: 60 charged, 0 returned; 10 in debt; not the 9000 of this settlement: max_debt bounds the debt, or another one came first\n"},
		{"settle " + idOf("lost") + " --cost 20", 0, "lost    tokens: 20 charged, in full: the node that took the hold is gone"},
		{"settle " + idOf("unknown") + " --cost 20", 0, "unknown tokens: it does not know the hold"},
		{"settle " + idOf("none") + " --cost 20", 0, "settled: the hold had taken nothing of any limit"},
		{"settle " + idOf("gone") + " --cost 20", 2, "unknown hold: it expired more than 10 minutes ago"},
		{"settle", 2, "HOLD is missing: use jeton settle HOLD"},
		{"settle nonsense --cost 1", 2, `HOLD: "nonsense" is not a hold as it was answered`},
		{"settle " + idOf("settled")[1:] + " --cost 1", 2, "a character is missing or was changed"},
		{"settle " + idOf("settled"), 2, "--cost is missing: say how many tokens were used, 0 for none"},
		{"settle " + idOf("settled") + " --cost -1", 2, "--cost: -1 is negative"},
		{"settle " + idOf("settled") + " --cost 9223372036854775808", 2, `--cost: "9223372036854775808" is out of range: give a number between -`},
		{"settle " + idOf("settled") + " --cost many", 2, `--cost: "many" is not a whole number`},
		{"settle " + idOf("settled") + " --cost 1 --for 60s", 2, "--for: the settlement ends the hold: say --open too, or leave --for out"},
		{"settle " + idOf("settled") + " --cost 1 --open --for 0s", 2, "--for: 0s is not after now"},
		{"settle " + idOf("settled") + " --cost 1 --open --for 1ms", 2, "--for: 1ms is too short"},
		{"settle " + idOf("settled") + " --cost 1 --open --for 2h", 2, `--for: 2h is longer than limit "tokens" allows`},
		{"settle " + idOf("settled") + " " + idOf("open") + " --cost 1", 2, "is one argument too many"},
	} {
		tt.try(t, env)
	}
	stdout, stderr, code := jeton(t, env, "settle", idOf("settled"), "--cost", "20", "--output", "json")
	var settled limit.Settled
	if err := json.Unmarshal([]byte(stdout), &settled); err != nil || code != 0 || settled.Charged != 20 || settled.Returned != 30 || len(settled.Limits) != 1 {
		t.Errorf("exit code %d, %v: %q, %q", code, err, stdout, stderr)
	}
}
