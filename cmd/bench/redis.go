package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// gcraChecks is how many checks of each limit the script is held against jeton's own rule with.
const gcraChecks = 2000

var redisServes = regexp.MustCompile(`Ready to accept connections`)

// redisSide is Redis, asked by a client library to run gcraScript.
func (c *Comparing) redisSide(ctx context.Context, folder string) (*side, error) {
	process, address, err := c.startRedis(ctx, folder)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, servers []string, l Load, cpu func() time.Duration) (service, error) {
		return dialRedis(ctx, servers[0], l, cpu)
	}
	return dialer(dial).over(ctx, "Redis", children{process}, []string{address}, c.Load)
}

// startRedis starts Redis with its data in a folder: with an fsync before every answer, or keeping nothing.
func (c *Comparing) startRedis(ctx context.Context, folder string) (process *child, address string, err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, "", flagError("compare", "redis-server is not on the PATH: apt-get install redis-server, or put it there")
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, "", err
	}
	args := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"}
	if c.Durability == storage.Fsync {
		args = append(args[:len(args)-1], "yes", "--appendfsync", "always")
	}
	process, _, err = start(ctx, "redis-server", redisServes, program, args...)
	return process, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

// freePort is a port that was free a moment ago. Redis takes 0 for none at all.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // it was only opened to be told a port
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("%v is no TCP address", l.Addr())
	}
	return address.Port, nil
}

// dialRedis makes a service of the Redis at that address, which keeps limits by gcraScript, once that has been found to
// decide as jeton does.
func dialRedis(ctx context.Context, address string, l Load, cpu func() time.Duration) (service, error) {
	client := redisClient(address, &l)
	sha, err := loadGCRA(ctx, client)
	var args []any
	if err == nil {
		args, err = benchArgs(l.Limit.Name)
	}
	if err != nil {
		return service{}, errors.Join(err, client.Close())
	}
	return service{
		caller: func(int) caller { return &redisCaller{client: client, sha: sha, args: args, key: make([]string, 1)} },
		cpu:    cpu,
		close:  client.Close,
	}, nil
}

// redisClient is a client for the callers of a load.
func redisClient(address string, l *Load) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: address, PoolSize: l.Callers, MinIdleConns: min(l.Callers, 16), MaxRetries: -1,
		DisableIdentity: true, ReadTimeout: patience, WriteTimeout: patience,
	})
}

// loadGCRA loads gcraScript, and finds out whether it decides as jeton does.
func loadGCRA(ctx context.Context, client *redis.Client) (sha string, err error) {
	if sha, err = client.ScriptLoad(ctx, gcraScript).Result(); err != nil {
		return "", err
	}
	return sha, checkGCRA(ctx, func(ctx context.Context, key string, args []any) ([]int64, error) {
		return client.EvalSha(ctx, sha, []string{key}, args...).Int64Slice()
	}, gcraChecks)
}

// benchArgs are the script's arguments for a check of the limit with that name among those of a comparison.
func benchArgs(name string) ([]any, error) {
	doc, err := limit.ParseDocument([]byte(limitsText))
	if err != nil {
		return nil, err
	}
	rule, ok := doc.Rule(name)
	if !ok {
		return nil, fmt.Errorf("no limit %q to compare with", name)
	}
	return gcraArgs(rule, 1, time.Now())
}

// A redisCaller runs the script for one key after the other, or for many in one pipeline.
type redisCaller struct {
	client *redis.Client
	sha    string
	args   []any
	key    []string
}

func (c *redisCaller) call(ctx context.Context, keys []string, t *tally) bool {
	if len(keys) == 1 {
		c.key[0] = keys[0]
		return c.count(ctx, c.client.EvalSha(ctx, c.sha, c.key, c.args...), t)
	}
	pipe := c.client.Pipeline()
	for _, key := range keys {
		pipe.EvalSha(ctx, c.sha, []string{key}, c.args...)
	}
	answers, err := pipe.Exec(ctx)
	if err != nil && ctx.Err() != nil {
		return t.failedCall(ctx, err, len(keys))
	}
	for _, answer := range answers {
		if cmd, ok := answer.(*redis.Cmd); !ok || !c.count(ctx, cmd, t) {
			return false
		}
	}
	return true
}

// count counts one answer, or says false if it was given up.
func (*redisCaller) count(ctx context.Context, answer *redis.Cmd, t *tally) bool {
	numbers, err := answer.Slice()
	switch {
	case err != nil && ctx.Err() != nil:
		return t.failedCall(ctx, err, 1)
	case err != nil:
		t.failed("Redis", err.Error(), 1)
	case len(numbers) != 4:
		t.failed("Redis", fmt.Sprintf("an answer of %d numbers", len(numbers)), 1)
	default:
		t.decided(numbers[0] == int64(1))
	}
	return true
}
