package doorcalls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Redis asks the door for clients of Redis: by JETON.CHECK for a stored limit, by CL.THROTTLE for one that the request defines.
type Redis struct {
	client *redis.Client
}

// NewRedis makes a Redis that shows a token; empty for none.
func NewRedis(address, token string, dial Dial) *Redis {
	o := &redis.Options{Addr: address, Password: token, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true}
	if dial != nil {
		o.Dialer = func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) }
	}
	return &Redis{redis.NewClient(o)}
}

// Check implements limit.Checker.
func (r *Redis) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	words := []any{"JETON.CHECK", q.Key, q.Limits[0].Name, q.Tokens()}
	passes := int64(1)
	if l := q.Limits[0].Inline; l != nil {
		words = []any{"CL.THROTTLE", q.Key, l.Capacity - 1, l.Refill.Tokens, int64(l.Refill.Per / time.Second), q.Tokens()}
		passes = 0
	}
	answer, err := r.client.Do(ctx, words...).Int64Slice()
	switch {
	case err != nil:
		return limit.Decision{}, undecidedByRedis(err)
	case len(answer) != 5 || answer[0]&^1 != 0:
		return limit.Decision{}, fmt.Errorf("%v is answered %d", words, answer)
	}
	return decided(&q, answer[0] == passes)
}

// Close closes all connections.
func (r *Redis) Close() error { return r.client.Close() }

// Rate asks by the script of redis_rate, for limits that the request defines.
type Rate struct{ *Redis }

// Check implements limit.Checker.
func (r Rate) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	l := q.Limits[0].Inline
	by := redis_rate.Limit{Rate: int(l.Refill.Tokens), Burst: int(l.Capacity), Period: l.Refill.Per}
	got, err := redis_rate.NewLimiter(r.client).AllowN(ctx, q.Key, by, int(q.Tokens()))
	if err != nil {
		return limit.Decision{}, undecidedByRedis(err)
	}
	return decided(&q, got.Allowed > 0)
}

// undecidedByRedis is an error of go-redis in jeton's terms. One that the door must not answer stays as it is.
func undecidedByRedis(err error) error {
	_, network := errors.AsType[net.Error](err)
	switch {
	case strings.HasPrefix(err.Error(), "TRYAGAIN nothing was decided"):
		return errors.Join(limit.ErrUnavailable, err)
	case strings.HasPrefix(err.Error(), "ERR nothing was decided"):
		return errors.Join(limit.ErrOverloaded, err)
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.Join(limit.ErrUnavailable, err)
	}
	return err
}
