package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// A recorder notes which script redis_rate calls.
type recorder struct {
	redis.Scripter

	sha string
}

func (r *recorder) EvalSha(ctx context.Context, sha string, _ []string, _ ...any) *redis.Cmd {
	r.sha = sha
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(errors.New("noted"))
	return cmd
}

func (*recorder) Del(ctx context.Context, _ ...string) *redis.IntCmd { return redis.NewIntCmd(ctx) }

// The digests of redis_rate's scripts are those that the door knows.
func TestScriptsOfRedisRate(t *testing.T) {
	r := &recorder{}
	l := redis_rate.NewLimiter(r)
	if _, err := l.AllowN(t.Context(), "k", redis_rate.PerSecond(1), 1); err == nil || r.sha != shaRateAllow {
		t.Errorf("AllowN calls %s: %v", r.sha, err)
	}
	if _, err := l.AllowAtMost(t.Context(), "k", redis_rate.PerSecond(1), 1); err == nil || r.sha != shaRateAllowAtMost {
		t.Errorf("AllowAtMost calls %s: %v", r.sha, err)
	}
}

// redis_rate works as it is.
func TestRedisRate(t *testing.T) {
	eachProtocol(t, Config{Token: isSecret}, secret, func(t *testing.T, c *redis.Client, key string) {
		t.Helper()
		l, ctx := redis_rate.NewLimiter(c), t.Context()
		per := redis_rate.Limit{Rate: 1, Burst: 10, Period: time.Hour}
		type result struct {
			allowed, remaining int
			retry, reset       time.Duration
		}
		for i, step := range []struct {
			ask  func(context.Context, string, redis_rate.Limit, int) (*redis_rate.Result, error)
			n    int
			want result
		}{
			{l.AllowN, 0, result{0, 10, -1, 0}},
			{l.AllowN, 1, result{1, 9, -1, time.Hour}},
			{l.AllowN, 3, result{3, 6, -1, 4 * time.Hour}},
			{l.AllowN, 7, result{0, 0, time.Hour, 4 * time.Hour}},
			{l.AllowN, 20, result{0, 0, 14 * time.Hour, 4 * time.Hour}}, // counted on beyond the bucket
			{l.AllowAtMost, 2, result{2, 4, -1, 6 * time.Hour}},
			{l.AllowAtMost, 0, result{0, 4, -1, 6 * time.Hour}},
			{l.AllowAtMost, 9, result{4, 0, -1, 10 * time.Hour}},
			{l.AllowAtMost, 9, result{0, 0, time.Hour, 10 * time.Hour}},
			{l.AllowAtMost, 0, result{0, 0, time.Hour, 10 * time.Hour}},
			{l.AllowN, 1, result{0, 0, time.Hour, 10 * time.Hour}},
		} {
			got, err := step.ask(ctx, key, per, step.n)
			if err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			// The clock goes on between the steps.
			near := func(a, b time.Duration) bool { return a == b || a < b && b-a < 10*time.Minute && b > 0 }
			if got.Allowed != step.want.allowed || got.Remaining != step.want.remaining || !near(got.RetryAfter, step.want.retry) || !near(got.ResetAfter, step.want.reset) {
				t.Errorf("step %d: %+v, want %+v", i, *got, step.want)
			}
		}
		if err := l.Reset(ctx, key); err != nil {
			t.Error(err)
		}
		if got, err := l.Allow(ctx, key, per); err != nil || got.Allowed != 1 || got.Remaining != 9 {
			t.Errorf("after a reset: %+v, %v", got, err)
		}
		if got, err := l.Allow(ctx, key+"half", redis_rate.Limit{Rate: 3, Burst: 3, Period: 1500 * time.Millisecond}); err != nil || got.ResetAfter != 500*time.Millisecond {
			t.Errorf("3 in 1.5 s: %+v, %v", got, err)
		}
		if _, err := l.Allow(ctx, key, redis_rate.Limit{Rate: 3, Period: time.Second}); err == nil || err.Error() != "ERR burst: 0 is too small: at least 1" {
			t.Error(err)
		}
	})
}

func TestScriptCommands(t *testing.T) {
	eachProtocol(t, Config{}, "", func(t *testing.T, c *redis.Client, key string) {
		t.Helper()
		ctx := t.Context()
		got, err := c.ScriptExists(ctx, shaRateAllow, strings.ToUpper(shaTraefik), strings.Repeat("0", 40)).Result()
		if fmt.Sprint(got) != "[true true false]" || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		const text = "return redis.call('GET', KEYS[1])"
		sha := shaOf([]byte(text))
		for what, err := range map[string]error{
			"load": c.ScriptLoad(ctx, text).Err(),
			"eval": c.Eval(ctx, text, []string{key}).Err(),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "ERR unknown script with the SHA-1 "+sha) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := c.EvalSha(ctx, sha, []string{key}).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOSCRIPT ") {
			t.Error(err)
		}
		for _, tt := range []struct{ args, want string }{
			{"0", "ERR numkeys: this script has 1 key"},
			{"2 a b", "ERR numkeys: this script has 1 key"},
			{"1", "ERR numkeys: this script has 1 key"},
			{"x k", `ERR numkeys: "x" is not an integer`},
			{"1 k 1 1 1", "ERR this script has the arguments burst, rate, period and count: there are 3"},
			{"1 k 0 1 1 1", "ERR burst: 0 is too small"},
			{"1 k 1 0 1 1", "ERR rate: 0 is too small"},
			{"1 k 1 1 0 1", `ERR period: "0" is not a number above 0`},
			{"1 k 1 1 NaN 1", `ERR period: "NaN" is not a number above 0`},
			{"1 k 1 1 1e300 1", "ERR period: 1e+300 is too long"},
			{"1 k 1 1 1 -1", "ERR count: -1 is too small"},
			{"1 k 1 1 1e-9 1", ""},
			{"1 k 1 2 1e-9 1", "ERR rate per period: "},
			{"1 k 9223372036854775807 1 1000000000 9223372036854775807", "ERR burst: "},
		} {
			for _, sha := range []string{shaRateAllow, shaRateAllowAtMost} {
				args := []any{"EVALSHA", sha}
				for word := range strings.FieldsSeq(tt.args) {
					args = append(args, word)
				}
				err := c.Do(ctx, args...).Err()
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
					t.Errorf("%s %s: %v, want %s", sha, tt.args, err, tt.want)
				}
			}
		}
	})
}
