package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	ratelimitcommon "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
	"github.com/jeton-dev/jeton/storage"
)

// The doors are measured with the numbers of minuteLimit, which clients send with each check or which stand in Envoy's file.
const (
	doorTokens = 6000
	doorPeriod = time.Minute
	rlsDomain  = "bench"
	rlsText    = "domain: bench\ndescriptors:\n  - key: user\n    rate_limit: {unit: minute, requests_per_unit: 6000}\n"
)

// doorCases ask nodes as clients of other systems do.
func doorCases() []kase {
	pipelines, alone := batches(Uniform), Load{Callers: 64}
	ratio := func(least float64) []goal {
		return []goal{{bound: atLeast, value: least, unit: "×", what: "checks a second"}, {unit: "×", what: "by processor time"}}
	}
	return []kase{
		{
			name: "door-redis", title: "CL.THROTTLE, three nodes ÷ a script in Redis: pipelines of 1,000", cluster: true,
			modes: []mode{{storage.Fsync, ratio(4)}}, measure: doorBeside(pipelines, throttleSide(3), scriptSide),
		},
		{
			name: "door-redis-incr", title: "CL.THROTTLE, one node ÷ INCR in Redis: pipelines of 1,000", cluster: true,
			modes: []mode{{storage.Memory, ratio(1)}}, measure: doorBeside(pipelines, throttleSide(1), incrSide),
		},
		{
			name: "door-redis-alone", title: "CL.THROTTLE, three nodes ÷ a script in Redis: one per call, 64 connections", cluster: true,
			modes: []mode{{storage.Fsync, ratio(0.9)}}, measure: doorBeside(alone, throttleSide(3), scriptSide),
		},
		{
			name: "door-rls", title: "Envoy's rate limit service ÷ jeton's own Check: one per call, 64 callers", cluster: true,
			modes: both(ratio(0.85)...), measure: doorBeside(alone, rlsSide, checkSide),
		},
		{
			name: "door-gubernator", title: "gubernator's GetRateLimits ÷ no-op: 1,000 per call", cluster: true,
			modes: both(ratio(0.5)...), measure: doorBeside(pipelines, gubernatorSide, noopBatches),
		},
	}
}

// A sideMaker starts one side of a comparison, with its data in a folder.
type sideMaker func(ctx context.Context, c *Comparing, folder string) (*side, error)

// doorBeside compares two sides under a load.
func doorBeside(l Load, one, other sideMaker) func(context.Context, *Tabling, storage.Durability) ([]Spread[float64], error) {
	return func(ctx context.Context, t *Tabling, d storage.Durability) ([]Spread[float64], error) {
		c := Comparing{Against: Redis, Durability: d, Load: l}
		result, err := t.compareBy(ctx, c, func(ctx context.Context, c *Comparing, folder string) (sides [2]*side, err error) {
			if sides[1], err = other(ctx, c, folder); err == nil {
				sides[0], err = one(ctx, c, folder)
			}
			return sides, err
		})
		if err != nil {
			return nil, err
		}
		return []Spread[float64]{result.Ratio, result.CPURatio}, nil
	}
}

// throttleCommand is CL.THROTTLE of minuteLimit.
func throttleCommand() respCommand {
	return respCommand{
		before: []string{"CL.THROTTLE"}, after: []string{strconv.Itoa(doorTokens - 1), strconv.Itoa(doorTokens), strconv.Itoa(int(doorPeriod / time.Second)), "1"},
		admits: func(limited int64) bool { return limited == 0 },
	}
}

// throttleSide is one node, or three, asked at their ports for Redis' protocol.
func throttleSide(nodes int) sideMaker {
	return func(ctx context.Context, c *Comparing, folder string) (*side, error) {
		run, err := c.startNodes(ctx, folder, nodes, c.Durability, "--listen-redis", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		var servers []string
		for _, n := range run {
			servers = append(servers, n.redis)
		}
		dial := func(ctx context.Context, servers []string, l Load, cpu func() time.Duration) (service, error) {
			return dialRESP(ctx, servers, l, throttleCommand(), cpu)
		}
		return dialer(dial).over(ctx, "nodes", run.children(), servers, c.Load)
	}
}

// redisBy is Redis, asked by a command of its own.
func redisBy(command func(ctx context.Context, c *Comparing, address string) (respCommand, error)) sideMaker {
	return func(ctx context.Context, c *Comparing, folder string) (*side, error) {
		process, address, err := c.startRedis(ctx, folder)
		if err != nil {
			return nil, err
		}
		dial := func(ctx context.Context, servers []string, l Load, cpu func() time.Duration) (service, error) {
			by, err := command(ctx, c, servers[0])
			if err != nil {
				return service{}, err
			}
			return dialRESP(ctx, servers, l, by, cpu)
		}
		return dialer(dial).over(ctx, "Redis", children{process}, []string{address}, c.Load)
	}
}

// scriptSide is Redis with the script that decides as jeton does; and incrSide with a counter, which decides nothing.
var (
	scriptSide = redisBy(func(ctx context.Context, c *Comparing, address string) (respCommand, error) {
		client := redisClient(address, &c.Load)
		sha, err := loadGCRA(ctx, client)
		var args []any
		if err == nil {
			args, err = benchArgs(c.Load.Limit.Name)
		}
		command := respCommand{before: []string{"EVALSHA", sha, "1"}, admits: func(allowed int64) bool { return allowed == 1 }}
		for _, arg := range args {
			command.after = append(command.after, fmt.Sprint(arg))
		}
		return command, errors.Join(err, client.Close())
	})
	incrSide = redisBy(func(context.Context, *Comparing, string) (respCommand, error) {
		return respCommand{before: []string{"INCR"}, admits: func(int64) bool { return true }}, nil
	})
)

// checkSide is a node, asked by jeton.v1's Check, and noopBatches what decides nothing, by its CheckBatch.
func checkSide(ctx context.Context, c *Comparing, folder string) (*side, error) {
	return c.nodeSide(ctx, dialRaw, "node", filepath.Join(folder, "check-node"), c.Durability, c.Load)
}

func noopBatches(ctx context.Context, c *Comparing, _ string) (*side, error) {
	return c.noopSide(ctx, dialRaw, c.Load)
}

// rlsSide is a node, asked as Envoy does.
func rlsSide(ctx context.Context, c *Comparing, folder string) (*side, error) {
	rules := filepath.Join(folder, "rls")
	if err := os.Mkdir(rules, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(rules, "bench.yaml"), []byte(rlsText), 0o600); err != nil {
		return nil, err
	}
	return grpcSide(ctx, c, folder, func(conn *grpc.ClientConn, _ Load) caller {
		entry := &ratelimitcommon.RateLimitDescriptor_Entry{Key: "user"}
		return &rlsCaller{client: ratelimitv3.NewRateLimitServiceClient(conn), entry: entry, request: &ratelimitv3.RateLimitRequest{
			Domain: rlsDomain, Descriptors: []*ratelimitcommon.RateLimitDescriptor{{Entries: []*ratelimitcommon.RateLimitDescriptor_Entry{entry}}},
		}}
	}, "--doors", "rls", "--rls-config", rules)
}

// gubernatorSide is a node, asked as gubernator is.
func gubernatorSide(ctx context.Context, c *Comparing, folder string) (*side, error) {
	return grpcSide(ctx, c, folder, func(conn *grpc.ClientConn, l Load) caller {
		request := &gubernatorpb.GetRateLimitsReq{Requests: make([]*gubernatorpb.RateLimitReq, l.Batch)}
		for i := range request.Requests {
			request.Requests[i] = &gubernatorpb.RateLimitReq{Name: "bench", Hits: 1, Limit: doorTokens, Duration: doorPeriod.Milliseconds()}
		}
		return &gubernatorCaller{client: gubernatorpb.NewV1Client(conn), request: request}
	}, "--doors", "gubernator")
}

// grpcSide is a node with doors, asked by callers that share connections.
func grpcSide(ctx context.Context, c *Comparing, folder string, call func(*grpc.ClientConn, Load) caller, flags ...string) (*side, error) {
	n, err := c.startNode(ctx, filepath.Join(folder, "node"), c.Durability, flags...)
	if err != nil {
		return nil, err
	}
	return dialer(func(_ context.Context, servers []string, l Load, cpu func() time.Duration) (service, error) {
		conns, err := connect(servers[0], insecure.NewCredentials(), l.Connections)
		return shared(conns, cpu, func(c *grpc.ClientConn) caller { return call(c, l) }), err
	}).over(ctx, "node", children{n.child}, []string{n.grpc}, c.Load)
}

// An rlsCaller calls ShouldRateLimit with one descriptor.
type rlsCaller struct {
	client  ratelimitv3.RateLimitServiceClient
	request *ratelimitv3.RateLimitRequest
	entry   *ratelimitcommon.RateLimitDescriptor_Entry
}

func (c *rlsCaller) call(ctx context.Context, keys []string, t *tally) bool {
	c.entry.Value = keys[0]
	answer, err := c.client.ShouldRateLimit(ctx, c.request)
	if err != nil {
		return t.failedCall(ctx, err, 1)
	}
	t.decided(answer.GetOverallCode() == ratelimitv3.RateLimitResponse_OK)
	return true
}

// A gubernatorCaller calls GetRateLimits.
type gubernatorCaller struct {
	client  gubernatorpb.V1Client
	request *gubernatorpb.GetRateLimitsReq
}

func (c *gubernatorCaller) call(ctx context.Context, keys []string, t *tally) bool {
	for i, key := range keys {
		c.request.Requests[i].UniqueKey = key
	}
	answer, err := c.client.GetRateLimits(ctx, c.request)
	if err != nil {
		return t.failedCall(ctx, err, len(keys))
	}
	for _, r := range answer.GetResponses() {
		if r.GetError() != "" {
			t.failed("gubernator", r.GetError(), 1)
		} else {
			t.decided(r.GetStatus() == gubernatorpb.Status_UNDER_LIMIT)
		}
	}
	if missing := len(keys) - len(answer.GetResponses()); missing != 0 {
		t.failed("gubernator", "an answer of the wrong length", int64(missing))
	}
	return true
}
