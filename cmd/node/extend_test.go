package node_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
)

// A permit of a limit that a request has defined is extended by its key and its receipt alone, as one of a stored limit is.
func TestExtendPermitOfARequest(t *testing.T) {
	n := open(t, node.Config{Data: t.TempDir(), ListenHTTP: "127.0.0.1:0"})
	post := func(path, body string) (d limit.Decision, status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.HTTPAddr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := plainHTTP().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Errorf("%s %s: %d %s: %v", path, body, res.StatusCode, text, err)
		}
		return d, res.StatusCode
	}
	const enter = `{"key":"k","limits":[{"name":"streams","algorithm":"concurrency","limit":2,"lease":"1h"}],"receipt":true}`
	extend := func(r limit.Receipt) (limit.Decision, int) {
		t.Helper()
		receipt, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return post("/v1/extend", `{"key":"k","receipt":`+string(receipt)+`}`)
	}
	permits := make([]limit.Receipt, 2)
	for i := range permits {
		d, status := post("/v1/check", enter)
		if status != http.StatusOK || len(d.Receipts) != 1 {
			t.Fatalf("%d: %+v", status, d)
		}
		permits[i] = d.Receipts[0]
	}
	for range 2 {
		for i, p := range permits {
			d, status := extend(p)
			if status != http.StatusOK || !d.Allowed || len(d.Receipts) != 1 || d.Receipts[0].Serial != p.Serial || d.Receipts[0].End <= p.End {
				t.Fatalf("%+v was extended to %+v, %d", p, d, status)
			}
			permits[i] = d.Receipts[0]
		}
	}
	if d, status := post("/v1/check", enter); status != http.StatusTooManyRequests {
		t.Errorf("a third is inside: %+v", d)
	}
	for _, p := range permits {
		if back, err := n.Return(t.Context(), "k", []limit.Receipt{p}); err != nil || !back[0] {
			t.Errorf("%+v was returned: %v, %v", p, back, err)
		}
		if d, status := extend(p); status != http.StatusTooManyRequests || !d.Limits[0].Ended {
			t.Errorf("it was extended after it had come back: %d %+v", status, d)
		}
	}
	if d, status := post("/v1/check", enter); status != http.StatusOK {
		t.Errorf("both have left, and the next one is told %d %+v", status, d)
	}
}
