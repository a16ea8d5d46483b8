package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRecipes runs each recipe shortly. It says nothing of times.
func TestRecipes(t *testing.T) {
	t.Parallel()
	s := settings{link: 20 * time.Millisecond, length: time.Second, seed: rand.Uint64()}
	var out bytes.Buffer
	if err := report(t.Context(), &out, s); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if rows := strings.Count(out.String(), "\n| "); rows != len(recipes())+1 {
		t.Errorf("%d rows, want one for each recipe", rows)
	}
	if strings.Contains(out.String(), "| 0 of ") {
		t.Error("a recipe admits nothing")
	}
}

// TestCutOff cuts the link of a region to the cluster that all share: the region's own limit holds, and the limit of all is left to its on_unavailable, until
// the link is back.
func TestCutOff(t *testing.T) {
	t.Parallel()
	i := 3
	r := recipes()[i]
	if len(r.limits) != 2 || !strings.Contains(r.limits[elsewhere], "on_unavailable: allow") {
		t.Fatalf("recipe %d is %q", i, r.name)
	}
	w, err := newWorld(t.Context(), r, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := &caller{world: w, recipe: r, client: &http.Client{Transport: &http.Transport{}}}
	defer c.client.CloseIdleConnections()
	if _, status, err := c.ask(t.Context(), 0, "/", "a"); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v", status, err)
	}
	w.links[elsewhere].sever()
	since, passed := time.Now(), 0
	for n := 0; passed < burst || n < 2*burst; n++ {
		_, status, err := c.ask(t.Context(), 0, "/", "b")
		switch {
		case err != nil:
			t.Fatal(err)
		case status == http.StatusOK:
			passed++
		case status != http.StatusTooManyRequests:
			t.Fatalf("request %d without the cluster of all: %d", n, status)
		}
		if time.Since(since) > time.Minute {
			break
		}
	}
	if most := burst + rate*time.Since(since).Seconds(); float64(passed) > most || passed < burst {
		t.Errorf("without the cluster of all %d requests of a user passed, of at most %.0f", passed, most)
	}
	w.links[elsewhere].mend()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		_, status, err := get(t.Context(), c.client, "http://"+w.gateways[0].AdminAddr()+"/readyz?strict", nil)
		if err != nil {
			t.Fatal(err)
		}
		if status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster of all is back, and the gateway does not say so")
		}
	}
}

// TestLink delivers what was sent, in its order, no sooner than it may.
func TestLink(t *testing.T) {
	t.Parallel()
	to, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close() //nolint:errcheck // the test ends
	go func() {      // until to is closed
		for {
			c, err := to.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprint(c, "hello, world")
			_ = c.Close()
		}
	}()
	const takes = 30 * time.Millisecond
	k, err := newLink(t.Context(), "127.0.0.1:0", to.Addr().String(), takes)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close() //nolint:errcheck // the test ends
	since := time.Now()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", k.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // the test ends
	var got bytes.Buffer
	if _, err := got.ReadFrom(c); err != nil || got.String() != "hello, world" {
		t.Errorf("%q, %v", got.String(), err)
	}
	if passed := time.Since(since); passed < takes {
		t.Errorf("it arrived after %v, and takes %v", passed, takes)
	}
	k.sever()
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", k.listener.Addr().String()); err == nil {
		if n, _ := c.Read(make([]byte, 1)); n > 0 {
			t.Error("a link that is cut delivers")
		}
		_ = c.Close()
	}
}
