package nemesis

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A gateway that dies after it has decided, and before it answers, was asked once, and whether it admitted is not known.
func TestGatewayThatDiesBeforeItAnswers(t *testing.T) {
	var asked atomic.Int64
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			return // it admits, and the connection is kept for the next request
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		c.Close() //nolint:errcheck // the caller sees it
	}))
	defer gateway.Close()
	asks := &gatewayChecker{gateways: []string{strings.TrimPrefix(gateway.URL, "http://")}, client: &http.Client{Transport: transport(nil)}}
	defer asks.client.CloseIdleConnections()
	var file bytes.Buffer
	l := newLedger(history.NewWriter(&file))
	if err := writeLimits(l.out, founding()); err != nil {
		t.Fatal(err)
	}
	r := limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Named("small")}}
	for range 2 {
		d, err := asks.Check(t.Context(), r)
		l.check(&caller{name: "gateways", through: throughGateway}, &r, time.Now(), time.Millisecond, d, err)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the gateway was asked %d times for two checks", n)
	}
	if err := l.out.Flush(); err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Calls) != 2 || h.Calls[0].Outcome != history.Admitted || h.Calls[1].Outcome != history.Failed || h.Calls[1].Error != "connection" {
		t.Errorf("the history has %+v", h.Calls)
	}
}
