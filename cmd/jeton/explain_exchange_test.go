package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/denial"
)

// TestExplainExchange prints exchanges in every state, after they have been JSON.
func TestExplainExchange(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	exchange := func(basis string, held denial.Held) *denial.Exchange {
		held.Counts, held.Key, held.Limits, held.Asked, held.Granted = "tokens", "org:a", []string{"minute", "month"}, 500, 400
		x := &denial.Exchange{Model: "gpt-x", Stream: true, Input: 10, Output: 490, Lowered: 390, Holds: []denial.Held{held}, Basis: basis}
		if basis != "" {
			x.Used = &denial.Used{Input: 12, Cached: 3, Output: 50, Reasoning: 7}
		}
		return x
	}
	for what, c := range map[string]struct {
		exchange *denial.Exchange
		want     []string
	}{
		"open": {exchange("", denial.Held{State: "open"}), []string{
			"exchange  edge-1-2-abc", "answered  200, it passed", "model     gpt-x, as a stream",
			"estimate  10 tokens of input, 490 of output; the maximum of output was lowered to 390", "held      400 of tokens, of 500, for org:a by minute, month",
			"used      not known yet", "settled   tokens: not yet",
		}},
		"settled": {exchange("usage", denial.Held{State: "settled", Charged: 62, Returned: 338}), []string{
			"used      12 tokens of input, 3 of them cached, 50 of output, 7 of them reasoning, as the answer says", "settled   tokens: 62 charged, 338 returned\n",
		}},
		"in debt":  {exchange("events", denial.Held{State: "settled", Charged: 462, Debt: 5}), []string{"by the events of the stream", "462 charged, 0 returned, 5 in debt"}},
		"lost":     {exchange("estimate", denial.Held{State: "lost", Charged: 400}), []string{"as estimated", "its owner is gone: 400 charged, nothing returned"}},
		"unknown":  {exchange("usage", denial.Held{State: "unknown", Why: "unknown hold"}), []string{"settled   tokens: unknown: unknown hold"}},
		"no model": {exchange("none", denial.Held{State: "settled", Returned: 400}), []string{"used      nothing", "0 charged, 400 returned"}},
	} {
		text, err := json.Marshal(denial.Record{ID: "edge-1-2-abc", At: at, Status: 200, Reason: "admitted", Route: "chat", Exchange: c.exchange})
		if err != nil {
			t.Fatal(err)
		}
		var r denial.Record
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := printDenial(&out, &r, at.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: there is no %q in\n%s", what, want, out.String())
			}
		}
	}
}
