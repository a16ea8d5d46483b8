package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
)

// TestExchangesInWords explains requests to language models: refused, under way, and ended in each way.
func TestExchangesInWords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	hold := func(state string, granted int64) denial.Held {
		return denial.Held{Counts: "tokens", Key: "user:42", Limits: []string{"tokens", "per-day"}, Asked: 524, Granted: granted, Charged: 68, Returned: 456, State: state}
	}
	exchange := func(e denial.ModelRequest, holds ...denial.Held) *denial.Record {
		e.Input, e.Output, e.Holds = 24, 500, holds
		if e.Basis != "" {
			e.Ended = at.Add(6 * time.Second)
			e.Used = &denial.Used{Input: 8, Output: 60}
		}
		return &denial.Record{ID: "x", At: at, Reason: "admitted", Method: "POST", Path: "/v1/messages", Route: "m", Status: 200, Key: "user:42", Source: "cluster", Exchange: &e}
	}
	money := hold("settled", 524)
	money.Counts, money.Limits, money.Debt = "money", []string{"budget"}, 7
	failed := hold("failed", 524)
	failed.Counts, failed.Why = "output", "no replica answers"
	goesOn := exchange(denial.ModelRequest{Stream: true, Model: "gpt-x"}, hold("open", 524))
	goesOn.Status = 0
	kinds := exchange(denial.ModelRequest{Basis: "usage"})
	kinds.Exchange.Used = &denial.Used{Input: 80, Output: 60, Cached: 20, CacheWrite: 5, Reasoning: 9}
	refused := exchange(denial.ModelRequest{Model: "gpt-x"})
	refused.Reason, refused.Status, refused.PassesAt = "denied", 429, at.Add(7*time.Second)
	refused.Limits = []denial.Limit{{Outcome: limit.Outcome{Name: "tokens", Limit: 1000, RetryAfter: 7 * time.Second}}}
	lowered := exchange(denial.ModelRequest{Lowered: 100})
	lowered.Reason, lowered.Status = "denied", 403
	open := exchange(denial.ModelRequest{Basis: "usage"})
	open.Reason, open.Source, open.Undecided = "fail_open", "allow", "limit budget: no decision available"
	some := exchange(denial.ModelRequest{Basis: "usage"})
	some.Reason, some.Node, some.Undecided = "fail_open", "n1:7700", "limit budget: no decision available"
	for _, tt := range []struct {
		record *denial.Record
		want   []string
		not    string
	}{
		{open, []string{
			"answered    200, it passed without a decision\n", "decided by  the gateway: the cluster did not decide, and on_unavailable is allow\n",
			"undecided   limit budget: no decision available; it passed uncounted, as on_unavailable says\n",
		}, "because"},
		{some, []string{"decided by  the cluster, node n1:7700, all but what is undecided\n", "undecided   limit budget: "}, "because"},
		{lowered, []string{
			"answered    403, denied by a limit\n", "lowered     an earlier check left 100 tokens of output; the request was refused, and the model was not asked\n",
		}, "told to generate"},
		{goesOn, []string{
			"exchange    x\n", "answered    not yet: it passed\n", "asks for    a stream of gpt-x\n", "estimate    24 tokens of input and 500 of output\n",
			"hold        tokens, per-day of user:42: 524 tokens held, while the answer goes on\n",
		}, "charged"},
		{exchange(denial.ModelRequest{Basis: "usage"}, hold("settled", 524), money), []string{
			"answered    200, it passed\n", "asks for    an answer\n", "used        8 tokens of input and 60 tokens of output\n", "charged by  the usage in the answer\n", "lasted      6s\n",
			"hold        tokens, per-day of user:42: 524 tokens held, 68 charged, 456 returned\n",
			"hold        budget of user:42: 524 millionths held, 68 charged, 456 returned; 7 in debt\n",
		}, "lowered"},
		{kinds, []string{"used        80 tokens of input (20 from a cache, 5 written to one) and 60 tokens of output (9 of reasoning)\n"}, "hold "},
		{exchange(denial.ModelRequest{Basis: "usage", Model: "gpt-x", Answered: "gpt-y"}), []string{"an answer of gpt-x\n", "model       gpt-y has answered\n"}, "in debt"},
		{exchange(denial.ModelRequest{Basis: "usage", Understated: true, Lowered: 100}, hold("settled", 124)), []string{
			"tells fewer tokens than there were events with output\n", "the model was told to generate at most 100 tokens\n", ": 124 of 524 tokens held, 68 charged",
		}, "in debt"},
		{exchange(denial.ModelRequest{Basis: "events"}, hold("lost", 524)), []string{"the text and the events of the stream", "68 charged, in full: the node that took the hold is gone\n"}, "returned"},
		{exchange(denial.ModelRequest{Basis: "estimate"}, hold("unknown", 524)), []string{"the estimate: nothing is known of what was used\n", "the limit does not know the hold any more\n"}, "returned"},
		{exchange(denial.ModelRequest{Basis: "estimate", Unread: "it is in secret writing"}), []string{"the estimate: the usage of the answer is not known: it is in secret writing\n"}, "nothing is known"},
		{exchange(denial.ModelRequest{Basis: "none"}, failed), []string{
			"nothing: the model gave no answer, and all comes back\n",
			"524 tokens of output held, not settled: it expires, and is charged or freed as the limit says (no replica answers)\n",
		}, "returned"},
		{refused, []string{
			"denial      x\n", "answered    429, denied by a limit\n", "estimate    24 tokens of input and 500 of output\n", "tokens (capacity 1000): denied", "passes      in 7s",
		}, "charged"},
	} {
		text, err := json.Marshal(tt.record)
		if err != nil {
			t.Fatal(err)
		}
		var r denial.Record // as a gateway sends it
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := printDenial(&out, &r, at); err != nil {
			t.Error(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
		if strings.Contains(out.String(), tt.not) {
			t.Errorf("%q is in\n%s", tt.not, out.String())
		}
	}
}
