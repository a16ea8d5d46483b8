package debug

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The page of a bucket says who holds tokens of it, how many at most, and until when, and draws where they lie.
func TestLeasesOfABucket(t *testing.T) {
	rule, err := limit.Limit{Name: "search", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Consistency: limit.Leased}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	in := limit.Inspection{Key: "user:42", Rule: rule, Now: at(0), TAT: at(50 * time.Second), Tokens: 50, Awake: true, Node: "n1"}
	page := func() string {
		var out bytes.Buffer
		if err := WriteBucket(&out, in); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if text := page(); !strings.Contains(text, "nothing: no gateway and no client holds tokens") || strings.Contains(text, "%") {
		t.Errorf("without leases:\n%s", text)
	}
	in.Leases = []limit.LeaseSeen{
		{Edge: "gateway-1", Span: limit.Span{Start: at(-5 * time.Second), End: at(10 * time.Second)}, Until: at(2 * time.Second)},
		{Edge: "\x1b[31m", Span: limit.Span{Start: at(30 * time.Second), End: at(50 * time.Second)}, Until: at(10 * time.Second)},
	}
	text := page()
	for _, want := range []string{
		"at most 30 tokens, at gateways and clients", `"gateway-1": at most 10, until now + 2s`, `"\x1b[31m": at most 20`, "|%%%%%%%%%#", "###%%%", "% leased",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	for i := range 20 {
		in.Leases = append(in.Leases, limit.LeaseSeen{Edge: fmt.Sprint("edge-", i), Span: in.Leases[1].Span, Until: at(time.Second)})
	}
	if text := page(); !strings.Contains(text, "and 12 more") {
		t.Errorf("of many leases:\n%s", text)
	}
}

// The page of a bucket says that edges decide beside it, and where their buckets are.
func TestPageOfABucketBesideEdges(t *testing.T) {
	for consistency, want := range map[limit.Consistency]string{
		limit.OfEdge:   "each gateway and each client has a bucket of its own, which no node knows",
		limit.Eventual: "report every 1s: what they have admitted since is missing here",
		limit.Strong:   "",
	} {
		rule, err := limit.Limit{Name: "search", Capacity: 20, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Consistency: consistency}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := WriteBucket(&out, limit.Inspection{Key: "user:42", Rule: rule, Now: at(0), Tokens: 20, Awake: true, Node: "n1"}); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, want) || strings.Contains(text, "edges") != (want != "") {
			t.Errorf("%s: it does not say %q:\n%s", consistency, want, text)
		}
	}
}
