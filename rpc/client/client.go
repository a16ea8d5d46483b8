// Package client is the Go client of a jeton node: a [limit.Limiter] over gRPC. It keeps its connections, puts a
// deadline on every call, and sends checks that are made at the same time in one message.
//
//	c, err := client.New(client.Config{Server: "127.0.0.1:7700"})
//	…
//	d, err := c.Check(ctx, limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("login")}, Cost: 1})
//
// Start with [New].
package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// What a Config means that does not say.
const (
	defaultConnections = 2
	defaultTimeout     = time.Second
	defaultMaxChecks   = 10_000
)

// messagesPerConnection may be on their way before checks are gathered. Two keep a connection busy while the node
// decides.
const messagesPerConnection = 2

// patience is how long a message may take before others no longer wait for it.
const patience = 10 * time.Millisecond

// Config says how to reach a node.
type Config struct {
	// Server is the gRPC address of a node, such as 127.0.0.1:7700. Required.
	Server string
	// Connections to keep, 0 for 2.
	Connections int
	// Timeout is how long a call may take when its context has no deadline, 0 for 1 s.
	Timeout time.Duration
	// MaxChecks is how many checks may be under way at once; more are refused with limit.ErrOverloaded. 0 for 10,000.
	MaxChecks int
}

// A Client asks one node. It is safe for concurrent use.
//
// Its errors are those of [limit.Checker], wrapped to say which node it was. A node that cannot be reached is
// limit.ErrUnavailable.
type Client struct {
	server  string
	timeout time.Duration
	conns   []*grpc.ClientConn
	turn    atomic.Uint32 // of conns
	queue   *queue
}

var _ limit.Limiter = (*Client)(nil)

// New makes a Client, and connects when it is first asked something. The error says what is wrong in cfg.
func New(cfg Config) (*Client, error) {
	switch {
	case cfg.Server == "":
		return nil, errors.New("jeton client: no server: name the gRPC address of a node, such as 127.0.0.1:7700")
	case cfg.Connections < 0 || cfg.Timeout < 0 || cfg.MaxChecks < 0:
		return nil, fmt.Errorf("jeton client: negative numbers in %+v", cfg)
	}
	c := &Client{server: cfg.Server, timeout: orElse(cfg.Timeout, defaultTimeout)}
	for range orElse(cfg.Connections, defaultConnections) {
		conn, err := connect(cfg.Server)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("jeton client: %w", err), c.closeConns())
		}
		c.conns = append(c.conns, conn)
	}
	c.queue = &queue{
		send: c.send, patience: patience,
		maxMessages: messagesPerConnection * len(c.conns),
		maxChecks:   orElse(cfg.MaxChecks, defaultMaxChecks),
	}
	return c, nil
}

func orElse[T ~int | ~int64](given, otherwise T) T {
	if given == 0 {
		return otherwise
	}
	return given
}

// Close gives up what is under way and closes the connections. Calls after it are limit.ErrUnavailable.
func (c *Client) Close() error {
	err := c.closeConns()
	c.queue.close()
	return err
}

func (c *Client) closeConns() error {
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// timed gives ctx a deadline if it has none.
func (c *Client) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.timeout)
}

// Check implements [limit.Checker]. Checks that are made at the same time travel together.
func (c *Client) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	ctx, cancel := c.timed(ctx)
	defer cancel()
	result := c.queue.do(ctx, pb.EncodeRequest(r))
	if result.Err != nil {
		return limit.Decision{}, c.explain(ctx, result.Err)
	}
	return result.Decision, nil
}

// CheckBatch implements [limit.BatchChecker], with one message.
func (c *Client) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := make([]limit.Result, len(rs))
	var (
		m    pb.CheckBatchRequest
		sent []int // the indices of the requests in m
	)
	for i, r := range rs {
		results[i].Err = r.Validate()
		if len(rs) > limit.MaxBatch {
			results[i].Err = &limit.FieldError{Field: "checks", Problem: fmt.Sprintf("%d requests are too many: at most %d", len(rs), limit.MaxBatch)}
		}
		if results[i].Err == nil {
			m.Checks = append(m.Checks, pb.EncodeRequest(r))
			sent = append(sent, i)
		}
	}
	if len(sent) == 0 {
		return results
	}
	ctx, cancel := c.timed(ctx)
	defer cancel()
	answer, err := pb.NewLimiterClient(c.conn()).CheckBatch(ctx, &m)
	if err == nil && len(answer.GetResults()) != len(sent) {
		err = errNoAnswer
	}
	for n, i := range sent {
		if err == nil {
			results[i] = pb.DecodeResult(answer.GetResults()[n])
		} else {
			results[i].Err = pb.DecodeError(err)
		}
		if results[i].Err != nil {
			results[i].Err = c.explain(ctx, results[i].Err)
		}
	}
	return results
}

// Return implements [limit.Returner].
func (c *Client) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateKey(key); err != nil {
		return nil, err
	}
	ctx, cancel := c.timed(ctx)
	defer cancel()
	answer, err := pb.NewLimiterClient(c.conn()).Return(ctx, &pb.ReturnRequest{Key: key, Receipts: pb.EncodeReceipts(receipts)})
	if err != nil {
		return nil, c.explain(ctx, pb.DecodeError(err))
	}
	return answer.GetReturned(), nil
}

// Inspect implements [limit.Inspector].
func (c *Client) Inspect(ctx context.Context, key string, ref limit.Ref) (limit.Inspection, error) {
	if err := limit.ValidateKey(key); err != nil {
		return limit.Inspection{}, err
	}
	ctx, cancel := c.timed(ctx)
	defer cancel()
	answer, err := pb.NewLimiterClient(c.conn()).Inspect(ctx, &pb.InspectRequest{Key: key, Limit: pb.EncodeRef(ref)})
	if err != nil {
		return limit.Inspection{}, c.explain(ctx, pb.DecodeError(err))
	}
	return pb.DecodeInspection(answer.GetInspection())
}

// Reset implements [limit.Resetter].
func (c *Client) Reset(ctx context.Context, key string, ref limit.Ref) error {
	if err := limit.ValidateKey(key); err != nil {
		return err
	}
	ctx, cancel := c.timed(ctx)
	defer cancel()
	_, err := pb.NewLimiterClient(c.conn()).Reset(ctx, &pb.ResetRequest{Key: key, Limit: pb.EncodeRef(ref)})
	if err != nil {
		return c.explain(ctx, pb.DecodeError(err))
	}
	return nil
}

// Limits asks for the stored limits.
func (c *Client) Limits(ctx context.Context) (*limit.Document, error) {
	ctx, cancel := c.timed(ctx)
	defer cancel()
	answer, err := pb.NewAdminClient(c.conn()).Limits(ctx, &pb.LimitsRequest{})
	if err != nil {
		return nil, c.explain(ctx, pb.DecodeError(err))
	}
	return limit.ParseDocument([]byte(answer.GetDocument()))
}
