package redis

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
)

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{}, {Limiter: failing{}, InlineFill: -1}} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "redis: ") {
			t.Error(err)
		}
	}
}

// counting counts what is asked of a Limiter, and in what form.
type counting struct {
	limit.Limiter

	single, batches, batched int
}

func (c *counting) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	c.single++
	return c.Limiter.Check(ctx, r)
}

func (c *counting) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	c.batches, c.batched = c.batches+1, c.batched+len(rs)
	return c.Limiter.CheckBatch(ctx, rs)
}

// Checks that follow one another are decided by one CheckBatch, up to another command, to the end of what has come, or to 1,000.
func TestDecidesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		asked := &counting{Limiter: s}
		dial, stop := inBubble(t, Config{Limiter: asked})
		c := newTalk(t, dial())
		c.say("CL.THROTTLE a 9 1 1", "JETON.CHECK a login", "CL.THROTTLE b 9 1 1 0", "EVALSHA "+shaRateAllow+" 1 a 9 1 1 1", "PING", "CL.THROTTLE a 9 1 1", "CL.THROTTLE x 1 1 1")
		for _, want := range []string{"*[0 10 9 -1 1]", "*[1 5 4 0 1000]", "*[0 10 10 -1 0]", `*[1 8 "-1" "1"]`, "PONG", "*[0 10 8 -1 2]", "*[0 2 1 -1 1]"} {
			if got := c.hear(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if asked.batches != 2 || asked.batched != 6 || asked.single != 0 {
			t.Errorf("%d batches of %d in all, %d single ones", asked.batches, asked.batched, asked.single)
		}
		go func() { _, _ = io.WriteString(c.Conn, strings.Repeat(words("JETON.CHECK", "k", "slow", "0"), 4000)) }()
		for range 4000 {
			c.hear()
		}
		if asked.batches < 2+4000/maxTogether || asked.batches > 60 || asked.batched != 4006 {
			t.Errorf("%d batches of %d in all", asked.batches, asked.batched)
		}
		c.close()
		stop()
		s.Close()
	})
}

// A stop answers what was read, even if that takes a while, and then closes; after its time it cuts off.
func TestStop(t *testing.T) {
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			begun, go1 := make(chan struct{}), make(chan struct{})
			d, err := New(Config{Limiter: waitingLimiter{begun: begun, end: go1}})
			if err != nil {
				t.Fatal(err)
			}
			l := newPipes()
			served := make(chan error, 1)
			go func() { served <- d.Serve(l) }()
			c, idle := newTalk(t, l.dial()), newTalk(t, l.dial())
			idle.want("PING", "PONG")
			c.say("CL.THROTTLE k 1 1 1")
			<-begun
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if patient {
				ctx = t.Context()
			}
			stopped := make(chan error, 1)
			go func() { stopped <- d.Stop(ctx) }()
			idle.ends()
			if patient {
				close(go1)
				if got := c.hear(); !strings.HasPrefix(got, "-TRYAGAIN ") {
					t.Error(got)
				}
			}
			c.ends()
			if err := <-stopped; (err == nil) != patient {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			if err := d.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if err := d.Serve(newPipes()); err != nil {
				t.Error("after Stop: ", err)
			}
			idle.close()
			c.close()
		})
	}
}

// waitingLimiter decides nothing until end is closed, or the call's context ends.
type waitingLimiter struct {
	limit.Limiter

	begun chan<- struct{}
	end   <-chan struct{}
}

func (w waitingLimiter) Check(ctx context.Context, _ limit.Request) (limit.Decision, error) {
	close(w.begun)
	select {
	case <-w.end:
		return limit.Decision{}, limit.ErrUnavailable
	case <-ctx.Done():
		return limit.Decision{}, ctx.Err()
	}
}

// certificate makes one for 127.0.0.1 that is its own authority.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t)
	address := serve(t, Config{
		Limiter: newNode(t), TLS: &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool, MinVersion: tls.VersionTLS12},
	})
	for _, own := range [][]tls.Certificate{nil, {cert}} {
		c := redis.NewClient(&redis.Options{Addr: address, TLSConfig: &tls.Config{RootCAs: pool, Certificates: own, MinVersion: tls.VersionTLS12}, MaxRetries: -1, DialTimeout: time.Minute, ReadTimeout: time.Minute})
		if err := c.Do(t.Context(), "CL.THROTTLE", "k", 1, 1, 1).Err(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	plain := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, DialTimeout: time.Minute, ReadTimeout: time.Minute})
	if err := plain.Ping(t.Context()).Err(); err == nil {
		t.Error("plain text is taken")
	}
	if err := plain.Close(); err != nil {
		t.Error(err)
	}
}

// What the connection says of itself, in both versions of the protocol.
func TestConnectionCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := newTalk(t, dial())
		c.want("HELLO", `*["server" "jeton" "version" "7.4.0" "proto" 2 "id" 1 "mode" "standalone" "role" "master" "modules" *[]]`)
		c.want("CLIENT GETNAME", "null")
		c.want("HELLO 3 SETNAME me", `%["server" "jeton" "version" "7.4.0" "proto" 3 "id" 1 "mode" "standalone" "role" "master" "modules" *[]]`)
		c.want("CLIENT GETNAME", `"me"`)
		c.want("CLIENT SETINFO LIB-NAME x", "OK")
		c.want("CLIENT INFO", `"id=1 addr=pipe name=me db=0 resp=3\n"`)
		c.want("COMMAND INFO ping nosuch", `*[*["ping" -1 *[fast] 0 0 0 *[] *[] *[] *[]] null]`)
		c.want("COMMAND DOCS ping nosuch", `%["ping" %["summary" "Answers." "group" "generic"]]`)
		c.want("COMMAND COUNT", "24")
		c.want("PING hello", `"hello"`)
		c.want("RESET", "RESET")
		c.want("CLIENT GETNAME", "null")
		c.want("COMMAND DOCS ping", `*["ping" *["summary" "Answers." "group" "generic"]]`)
		c.want("TTL k", "-2")
		c.want("CL.THROTTLE k 1 1 10", "*[0 2 1 -1 10]")
		c.want("CL.THROTTLE k 1 1 10", "*[0 2 0 -1 20]")
		time.Sleep(4400 * time.Millisecond) //nolint:forbidigo // the bubble's clock
		c.want("TTL k", "16")
		c.want("PTTL k", "15600")
		c.want("EXISTS k nobody k", "2")
		time.Sleep(15600 * time.Millisecond) //nolint:forbidigo // likewise
		c.want("PTTL k", "-2")
		c.want("QUIT", "OK")
		c.ends()
		c.close()
		stop()
	})
}

// A number that changes keeps the line that was spent: what a client takes away from itself by one call, another one does not give back.
func TestChangedNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := inBubble(t, Config{})
		c := newTalk(t, dial())
		c.want("CL.THROTTLE k 9 1 60 10", "*[0 10 0 -1 600]")
		c.want("CL.THROTTLE k 9 1 30 1", "*[1 10 0 330 600]")
		c.want("CL.THROTTLE k 19 1 60 1", "*[0 20 9 -1 660]")
		c.close()
		stop()
	})
}

// A wrapped listener that is bounded is not bounded again: what is held counts where the process has its bounds.
func TestWrappedListener(t *testing.T) {
	d, err := New(Config{Limiter: newNode(t)})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		t.Fatal(err)
	}
	bounded := bound.New(plain, bound.Config{Name: "test", Connections: 8, Memory: 1 << 20})
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(struct{ *bound.Listener }{bounded}) }()
	c, err := net.Dial("tcp", plain.Addr().String()) //nolint:noctx // likewise
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "*2\r\n$4\r\nECHO\r\n$20000\r\n"+strings.Repeat("x", 10_000)); err != nil {
		t.Fatal(err)
	}
	for bounded.Held(bound.Stranger) == 0 {
		runtime.Gosched()
	}
	_ = c.Close()
	if err := errors.Join(d.Stop(t.Context()), <-ended); err != nil {
		t.Error(err)
	}
}
