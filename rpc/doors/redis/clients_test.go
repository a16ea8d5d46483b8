package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/client"
)

// later are the seconds until one, two or three tokens have come back that take an hour each, up to 100 s after they were taken.
var later = regexp.MustCompile(`\b(35|71|107)[0-9]{2}\b`)

// atOnce is an answer as if no time had passed since the bucket was first spent: a slow machine takes seconds from one command to the next.
func atOnce(answer string) string {
	return later.ReplaceAllStringFunc(answer, func(seconds string) string {
		switch seconds[:len(seconds)-2] {
		case "35":
			return "3600"
		case "71":
			return "7200"
		}
		return "10800"
	})
}

// dialGo makes a client of go-redis that speaks a version of the protocol.
func dialGo(tb testing.TB, address string, protocol int, password string) *redis.Client {
	tb.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: address, Protocol: protocol, Password: password, ClientName: "test", MaxRetries: -1,
		DialTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute, PoolTimeout: time.Minute,
	})
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// eachProtocol runs f with a client of go-redis for each version of the protocol, and a prefix for its keys.
func eachProtocol(t *testing.T, cfg Config, password string, f func(t *testing.T, c *redis.Client, prefix string)) {
	t.Helper()
	cfg.Limiter = newNode(t)
	address := serve(t, cfg)
	for _, protocol := range []int{2, 3} {
		prefix := fmt.Sprintf("resp%d:", protocol)
		t.Run(prefix, func(t *testing.T) { f(t, dialGo(t, address, protocol, password), prefix) })
	}
}

func TestGoRedis(t *testing.T) {
	eachProtocol(t, Config{}, "", func(t *testing.T, c *redis.Client, prefix string) {
		t.Helper()
		ctx := t.Context()
		if got, err := c.Ping(ctx).Result(); got != "PONG" || err != nil {
			t.Errorf("ping: %q, %v", got, err)
		}
		if got, err := c.Echo(ctx, "héllo").Result(); got != "héllo" || err != nil {
			t.Errorf("echo: %q, %v", got, err)
		}
		if got, err := c.ClientGetName(ctx).Result(); got != "test" || err != nil {
			t.Errorf("name: %q, %v", got, err)
		}
		if got, err := c.ClientID(ctx).Result(); got < 1 || err != nil {
			t.Errorf("id: %d, %v", got, err)
		}
		if got, err := c.ClientInfo(ctx).Result(); err != nil || got.Name != "test" {
			t.Errorf("info: %+v, %v", got, err)
		}
		if got, err := c.Info(ctx).Result(); err != nil || !strings.Contains(got, "redis_version:7.") {
			t.Errorf("info: %q, %v", got, err)
		}
		commands, err := c.Command(ctx).Result()
		if err != nil || commands["cl.throttle"] == nil || commands["cl.throttle"].Arity != -5 || commands["cl.throttle"].FirstKeyPos != 1 {
			t.Errorf("commands: %+v, %v", commands, err)
		}
		got, err := c.Do(ctx, "CL.THROTTLE", prefix+"u", 15, 30, 3600).Int64Slice()
		if want := []int64{0, 16, 15, -1, 120}; fmt.Sprint(got) != fmt.Sprint(want) || err != nil {
			t.Errorf("CL.THROTTLE: %v, %v, want %v", got, err, want)
		}
		got, err = c.Do(ctx, "JETON.CHECK", prefix+"u", "slow").Int64Slice()
		if want := []int64{1, 2, 1, 0, 3600000}; fmt.Sprint(got) != fmt.Sprint(want) || err != nil {
			t.Errorf("JETON.CHECK: %v, %v, want %v", got, err, want)
		}
		if n, err := c.Exists(ctx, prefix+"u", prefix+"nobody").Result(); n != 1 || err != nil {
			t.Errorf("exists: %d, %v", n, err)
		}
		if d, err := c.PTTL(ctx, prefix+"u").Result(); d <= 0 || d > 2*time.Minute || err != nil {
			t.Errorf("pttl: %v, %v", d, err)
		}
		if d, err := c.TTL(ctx, prefix+"nobody").Result(); d != -2 || err != nil {
			t.Errorf("ttl: %v, %v", d, err)
		}
		if err := c.Get(ctx, "x").Err(); err == nil || err.Error() != "ERR unknown command 'get', with args beginning with: 'x' " {
			t.Errorf("get: %v", err)
		}
		if err := c.Do(ctx, "SELECT", 1).Err(); err == nil || !strings.HasPrefix(err.Error(), "ERR DB index is out of range") {
			t.Errorf("select: %v", err)
		}
		if _, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() }); err == nil || !strings.Contains(err.Error(), "no transactions") {
			t.Errorf("multi: %v", err)
		}
		if err := c.Do(ctx, "RESET").Err(); err != nil {
			t.Errorf("reset: %v", err)
		}
	})
}

// Answers of a pipeline come in the order of its commands, and checks of one key are decided in that order, among others that are none.
func TestPipelines(t *testing.T) {
	eachProtocol(t, Config{}, "", func(t *testing.T, c *redis.Client, prefix string) {
		t.Helper()
		const checks = 2500
		p := c.Pipeline()
		var all []*redis.Cmd
		for i := range checks {
			all = append(all, p.Do(t.Context(), "CL.THROTTLE", prefix+"k", 1999, 1, 3600))
			if i%100 == 50 {
				p.Do(t.Context(), "ECHO", i)
				p.Do(t.Context(), "NOSUCH")
			}
		}
		if _, err := p.Exec(t.Context()); err == nil || !strings.Contains(err.Error(), "NOSUCH") && !strings.Contains(err.Error(), "nosuch") {
			t.Error(err)
		}
		for i, cmd := range all {
			got, err := cmd.Int64Slice()
			limited, remaining := int64(0), int64(1999-i)
			if i >= 2000 {
				limited, remaining = 1, 0
			}
			if err != nil || got[0] != limited || got[2] != remaining {
				t.Fatalf("check %d: %v, %v, want %d and %d remaining", i, got, err, limited, remaining)
			}
		}
	})
}

// Only who shows a token may ask anything, and fill buckets.
func TestTokens(t *testing.T) {
	address := serve(t, Config{Limiter: newNode(t), Token: isSecret})
	for _, protocol := range []int{2, 3} {
		for _, password := range []string{"", "wrong"} {
			err := dialGo(t, address, protocol, password).Do(t.Context(), "CL.THROTTLE", "k", 1, 1, 1).Err()
			if err == nil || !strings.Contains(err.Error(), "NOAUTH") && !strings.Contains(err.Error(), "WRONGPASS") {
				t.Errorf("RESP%d with the password %q: %v", protocol, password, err)
			}
		}
		c, key := dialGo(t, address, protocol, secret), fmt.Sprint("k", protocol)
		throttle := func() string {
			got, err := c.Do(t.Context(), "CL.THROTTLE", key, 0, 1, 3600).Int64Slice()
			return fmt.Sprint(got, err)
		}
		if got := atOnce(throttle() + throttle()); got != "[0 1 0 -1 3600] <nil>[1 1 0 3600 3600] <nil>" {
			t.Error(got)
		}
		for _, want := range []int64{1, 0} {
			if n, err := c.Del(t.Context(), key, "nobody").Result(); n != want || err != nil {
				t.Errorf("del: %d, %v, want %d", n, err, want)
			}
		}
		if got := throttle(); got != "[0 1 0 -1 3600] <nil>" {
			t.Error("after DEL: ", got)
		}
	}
}

// A token that does not count any more does not on open connections either: the client has to show another one.
func TestRevokedToken(t *testing.T) {
	var revoked atomic.Bool
	address := serve(t, Config{Limiter: newNode(t), Token: func(token string) bool { return token == "next" || !revoked.Load() && isSecret(token) }})
	conn, err := net.Dial("tcp", address) //nolint:noctx // the test's deadline is enough
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing comes any more
	c := newTalk(t, conn)
	c.want("AUTH "+secret, "OK")
	c.want("CL.THROTTLE k 1 1 3600", "*[0 2 1 -1 3600]")
	revoked.Store(true)
	if got := c.ask("CL.THROTTLE k 1 1 3600"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("after its token was revoked: %s", got)
	}
	c.want("AUTH next", "OK")
	if got := atOnce(c.ask("CL.THROTTLE k 1 1 3600")); got != "*[0 2 0 -1 7200]" {
		t.Errorf("with another token: %s", got)
	}
}

// A door that asks a node over the network, as a gateway's does, answers the same.
func TestAtADistance(t *testing.T) {
	node, err := rpc.New(rpc.Config{Limiter: newNode(t)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(node.Stop(context.Background()), <-ended); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(client.Config{Server: l.Addr().String(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	r := dialGo(t, serve(t, Config{Limiter: c, Token: isSecret}), 3, secret)
	for i, step := range []struct{ line, want string }{
		{"CL.THROTTLE k 1 1 3600", "[0 2 1 -1 3600]"},
		{"CL.THROTTLE k 1 1 3600 9", "[1 2 1 -1 3600]"},
		{"EVALSHA " + shaTraefik + " 1 k 0.000001 1 1 1 500000", "[true 0 0]"},
		{"JETON.CHECK k slow", "[1 2 1 0 3600000]"},
		{"JETON.CHECK k slo", `ERR unknown limit "slo"`},
		{"CL.THROTTLE k 1 1 9223372036", "ERR max_burst: at this refill"},
		{"TTL k", "3600"},
		{"DEL k", "1"},
		{"TTL k", "-2"},
		{"CL.THROTTLE k 1 1 3600 2", "[0 2 0 -1 7200]"},
	} {
		var words []any
		for word := range strings.FieldsSeq(step.line) {
			words = append(words, word)
		}
		answer, err := r.Do(t.Context(), words...).Result()
		got := atOnce(fmt.Sprint(answer))
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, step.want) {
			t.Errorf("step %d, %s: %s, want %s", i, step.line, got, step.want)
		}
	}
}

// Without tokens no client may fill buckets.
func TestNoTokens(t *testing.T) {
	eachProtocol(t, Config{}, "", func(t *testing.T, c *redis.Client, _ string) {
		t.Helper()
		if err := c.Del(t.Context(), "k").Err(); err == nil || !strings.HasPrefix(err.Error(), "ERR DEL fills buckets") {
			t.Error(err)
		}
	})
}

func TestRueidis(t *testing.T) {
	address := serve(t, Config{Limiter: newNode(t), Token: isSecret})
	for _, resp2 := range []bool{false, true} {
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{address}, Password: secret, ClientName: "test", DisableCache: true, AlwaysRESP2: resp2, ForceSingleClient: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint("rueidis", resp2)
		all := make(rueidis.Commands, 0, 5)
		for range 5 {
			all = append(all, c.B().Arbitrary("CL.THROTTLE").Keys(key).Args("2", "1", "3600").Build())
		}
		var got [][]int64
		for _, r := range c.DoMulti(t.Context(), all...) {
			ns, err := r.AsIntSlice()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ns)
		}
		if want := "[[0 3 2 -1 3600] [0 3 1 -1 7200] [0 3 0 -1 10800] [1 3 0 3600 10800] [1 3 0 3600 10800]]"; atOnce(fmt.Sprint(got)) != want {
			t.Errorf("%v, want %s", got, want)
		}
		err = c.Do(t.Context(), c.B().Arbitrary("JETON.CHECK").Keys(key).Args("logn").Build()).Error()
		if re, ok := errors.AsType[*rueidis.RedisError](err); !ok || !strings.Contains(re.Error(), `unknown limit "logn"`) {
			t.Error(err)
		}
		if n, err := c.Do(t.Context(), c.B().Del().Key(key).Build()).AsInt64(); n != 1 || err != nil {
			t.Errorf("del: %d, %v", n, err)
		}
		c.Close()
	}
}

// A client whose cache cannot be had is told so when it connects.
func TestRueidisWithCache(t *testing.T) {
	address := serve(t, Config{Limiter: newNode(t)})
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, ForceSingleClient: true})
	if err == nil {
		c.Close()
		t.Fatal("the client has a cache")
	}
	if !errors.Is(err, rueidis.ErrNoCache) && !strings.Contains(err.Error(), "client|tracking") {
		t.Error(err)
	}
}

// The door stops while clients ask: what was asked is answered or the connection ends, and Stop returns.
func TestStopUnderLoad(t *testing.T) {
	d, err := New(Config{Limiter: newNode(t)})
	if err != nil {
		t.Fatal(err)
	}
	listeners := []string{listen(t, d), listen(t, d)}
	answers := make(chan error, 4)
	for i := range 4 {
		c := dialGo(t, listeners[i%2], 3, "")
		go func() {
			for {
				err := c.Do(context.Background(), "CL.THROTTLE", "k", 1, 1, 1).Err()
				answers <- err
				if err != nil {
					return
				}
			}
		}()
	}
	for range 100 {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	if err := stopWhile(d, answers); err != nil {
		t.Error(err)
	}
	if n := d.open.Load(); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}
