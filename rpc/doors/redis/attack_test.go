package redis

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
)

// What is no command of the protocol is answered with an error, and ends the connection.
func TestGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		for in, want := range map[string]string{
			"*1\r\n$536870912\r\n":           "-ERR Protocol error: invalid bulk length",
			"*1\r\n$-2\r\n":                  "-ERR Protocol error: invalid bulk length",
			"*1\r\n$9223372036854775807\r\n": "-ERR Protocol error: invalid bulk length",
			"*1000000\r\n":                   "-ERR Protocol error: invalid multibulk length",
			"*-1\r\n":                        "-ERR Protocol error: invalid multibulk length",
			"*1\r\nPING\r\n":                 "-ERR Protocol error: expected '$', got 'P'",
			"$9223372036854775807 PING\r\n":  "-ERR Protocol error: expected '*', got '$'",
			"PING \"a\r\n":                   "-ERR Protocol error: unbalanced quotes in request",
			"POST / HTTP/1.1\r\n":            "-ERR Protocol error: this is HTTP",
			"Host: localhost\r\n":            "-ERR Protocol error: this is HTTP",
			"\x16\x03\x01" + strings.Repeat("\x00", maxLine): "-ERR Protocol error: too big inline request",
		} {
			c := newTalk(t, dial())
			c.say("ECHO before") // is answered first
			if got := c.hear(); got != `"before"` {
				t.Error(got)
			}
			c.send(in)
			if got := c.hear(); !strings.HasPrefix(got, want) {
				t.Errorf("%.40q: %s, want %s", in, got, want)
			}
			c.ends()
			c.close()
		}
		stop()
	})
}

// Lines of text are commands too, and empty ones none.
func TestInline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := newTalk(t, dial())
		c.send("\r\n*0\r\nPING\r\nECHO \"a b\"\nCL.THROTTLE k 1 1 1\r\nQUIT\r\nPING\r\n")
		for _, want := range []string{"PONG", `"a b"`, "*[0 2 1 -1 1]", "OK"} {
			if got := c.hear(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		c.ends()
		c.close()
		stop()
	})
}

// A command whose rest does not come, and a token that does not come, end the connection after ten seconds; a client that is quiet stays.
func TestLateCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		quiet, late := newTalk(t, dial()), newTalk(t, dial())
		late.say("PING")
		if got := late.hear(); got != "PONG" {
			t.Error(got)
		}
		start := time.Now()
		late.send("*1\r\n$4\r\nPI")
		go func() {
			time.Sleep(9 * time.Second) //nolint:forbidigo // the bubble's clock
			_, _ = io.WriteString(late.Conn, "N")
		}()
		late.ends()
		if took := time.Since(start); took != completeWithin {
			t.Errorf("half a command is kept for %v", took)
		}
		time.Sleep(24 * time.Hour) //nolint:forbidigo // likewise
		quiet.want("PING", "PONG")
		quiet.close()
		late.close()
		stop()

		dial, stop = inBubble(t, Config{Token: isSecret})
		stranger, caller := newTalk(t, dial()), newTalk(t, dial())
		caller.want("AUTH "+secret, "OK")
		start = time.Now()
		for range 2 {
			time.Sleep(4 * time.Second) //nolint:forbidigo // likewise
			if got := stranger.ask("AUTH wrong"); !strings.HasPrefix(got, "-WRONGPASS ") {
				t.Error(got)
			}
		}
		stranger.ends()
		if took := time.Since(start); took != completeWithin {
			t.Errorf("a stranger is kept for %v", took)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // likewise
		caller.want("PING", "PONG")
		caller.want("RESET", "RESET") // it is a stranger again, and has as long as one
		time.Sleep(5 * time.Second)   //nolint:forbidigo // likewise
		caller.want("AUTH any "+secret, "OK")
		stranger.close()
		caller.close()
		stop()
	})
}

// A client that does not read is not read either, and loses its connection.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := dial()
		start, sent := time.Now(), 0
		for {
			if err := c.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			n, err := io.WriteString(c, strings.Repeat(words("COMMAND"), 1000))
			sent += n
			if err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the connection stays")
				}
				break
			}
		}
		if took := time.Since(start); took != writeWithin || sent > 1<<20 {
			t.Errorf("%d bytes were taken in %v", sent, took)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		stop()
	})
}

// Commands of which the answers are much larger than they are themselves do not fill the memory.
func TestLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := newTalk(t, dial())
		const n = 3000
		go func() { _, _ = io.WriteString(c.Conn, strings.Repeat(words("COMMAND"), n)) }()
		var most, now runtime.MemStats
		runtime.ReadMemStats(&most)
		for i := range n {
			c.hear()
			if i%1000 == 500 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				if now.HeapAlloc > most.HeapAlloc+8<<20 {
					t.Errorf("the heap has grown from %d to %d bytes", most.HeapAlloc, now.HeapAlloc)
				}
			}
		}
		c.close()
		stop()
	})
}

// What connections hold is counted by the listener, and given up again.
func TestCountsBuffers(t *testing.T) {
	d, err := New(Config{Limiter: newNode(t)})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bound.New(raw, bound.Config{Name: "redis", Memory: 1 << 20})
	served := make(chan error, 1)
	go func() { served <- d.Serve(l) }()
	dial := func() *talk {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", raw.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return newTalk(t, c)
	}
	small, large := dial(), dial()
	small.want("PING", "PONG")
	if held := l.Held(bound.Stranger); held < firstBuffer || held > 4*firstBuffer {
		t.Errorf("%d bytes are held for a small connection", held)
	}
	large.send("*2\r\n$4\r\nECHO\r\n$1000000\r\n")
	_, _ = io.WriteString(large.Conn, strings.Repeat("x", 900_000)) // it may be cut off before it has sent all
	large.ends()
	small.want("PING", "PONG")
	small.close()
	large.close()
	if err := d.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if held := l.Held(bound.Stranger); held != 0 {
		t.Errorf("%d bytes are held for nobody", held)
	}
}

// Before AUTH commands are small.
func TestSmallBeforeAuth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{Token: isSecret})
		c := newTalk(t, dial())
		c.send("*2\r\n$4\r\nAUTH\r\n$20000\r\n")
		if got := c.hear(); got != "-ERR Protocol error: invalid bulk length: a command has at most 16384 bytes" {
			t.Error(got)
		}
		c.ends()
		c.close()
		c = newTalk(t, dial())
		c.want("AUTH "+secret, "OK")
		if got := c.ask("ECHO " + strings.Repeat("x", 20000)); len(got) != 20002 {
			t.Error(len(got))
		}
		c.close()
		stop()
	})
}

// A limiter that fails as it is told.
type failing struct {
	limit.Limiter

	err error
}

func (f failing) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{}, f.err
}

func (f failing) CheckBatch(_ context.Context, rs []limit.Request) []limit.Result {
	all := make([]limit.Result, len(rs))
	for i := range all {
		all[i].Err = f.err
	}
	return all
}

func (f failing) Inspect(context.Context, string, limit.Ref, string) (limit.Inspection, error) {
	return limit.Inspection{}, f.err
}

// An error of the limiter is an error of the command, and never a decision. Its word says whether it is worth trying again.
func TestNothingDecided(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{limit.ErrUnavailable, "-TRYAGAIN nothing was decided: no decision available"},
		{limit.ErrOverloaded, "-ERR nothing was decided: overloaded"},
		{limit.ErrUnauthenticated, "-ERR nothing was decided: not authenticated"},
		{context.DeadlineExceeded, "-TRYAGAIN nothing was decided: no node has answered within 1s"},
		{errors.New("x\r\n+OK"), "-TRYAGAIN nothing was decided: x  +OK"},
		{&limit.FieldError{Field: "limits." + ofCell, Problem: "is a stored limit"}, "-ERR redis-cell"},
	} {
		synctest.Test(t, func(t *testing.T) {
			dial, stop := inBubble(t, Config{Limiter: failing{err: tt.err}})
			c := newTalk(t, dial())
			c.say("CL.THROTTLE k 1 1 1", "CL.THROTTLE k 1 1 1", "ECHO x", "TTL k")
			for range 2 {
				if got := c.hear(); !strings.HasPrefix(got, tt.want) {
					t.Errorf("%s, want %s", got, tt.want)
				}
			}
			if got := c.hear(); got != `"x"` {
				t.Error(got)
			}
			if got := c.hear(); !strings.HasPrefix(got, tt.want[:5]) {
				t.Errorf("%s, want %s", got, tt.want)
			}
			c.close()
			stop()
		})
	}
}

// A panic ends its connection, and no other.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		dial, stop := inBubble(t, Config{Limiter: failing{}, Registerer: registry}) // a decision without outcomes
		other, c := newTalk(t, dial()), newTalk(t, dial())
		c.say("CL.THROTTLE k 1 1 1")
		c.ends()
		other.want("PING", "PONG")
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, family := range families {
			if family.GetName() == "jeton_door_redis_panics_total" {
				seen = family.GetMetric()[0].GetCounter().GetValue() == 1
			}
		}
		if !seen {
			t.Error("the panic is not counted")
		}
		c.close()
		other.close()
		stop()
	})
}

// Whatever a client sends, the door goes on answering others.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		words("PING"), words("CL.THROTTLE", "k", "1", "1", "1"), words("HELLO", "3") + words("COMMAND", "DOCS"), "PING\r\n\"", "*1\r\n$-2\r\n", "*3\r\n$1\r\na",
		words("EVALSHA", shaTraefik, "1", "k", "0.1", "1", "1", "1", "1"), words("EVALSHA", shaRateAllowAtMost, "1", "k", "1", "1", "1", "5"),
		words("DEL", "k") + words("TTL", "k") + words("EXISTS", "k", "") + words("RESET") + words("QUIT"), words("CLIENT", "SETNAME", "a b"), words("AUTH", secret),
		words("JETON.CHECK", "", "login", "0") + words("MULTI") + words("INFO") + words("SCRIPT", "EXISTS", "x"),
	} {
		f.Add([]byte(seed), uint64(1))
	}
	s := newSystem(f)
	f.Cleanup(s.Close)
	d, err := New(Config{Limiter: s})
	if err != nil {
		f.Fatal(err)
	}
	l := newPipes()
	served := make(chan error, 1)
	go func() { served <- d.Serve(l) }()
	f.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			f.Error(err)
		}
		if err := <-served; err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		c := newTalk(t, l.dial())
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			rng := rand.New(rand.NewPCG(seed, 0))
			for len(in) > 0 {
				n := 1 + rng.IntN(len(in))
				if _, err := c.Write(in[:n]); err != nil {
					return
				}
				in = in[n:]
			}
			_, _ = io.WriteString(c.Conn, "\r\n"+words("QUIT")) // if it is not within a command
		}()
		for {
			_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // a pipe that is closed has none
			_, err := readAnswer(c.in)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("what is answered is not the protocol: %v", err)
			}
			if err != nil {
				break
			}
		}
		c.close()
		<-sent
		other := newTalk(t, l.dial())
		other.want("PING", "PONG")
		other.close()
	})
}
