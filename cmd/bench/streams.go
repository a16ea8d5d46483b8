package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/storage"
)

// The load of streams: so many at once, half of them through each side, each of so many events. A stream that has ended is followed by another
// one, so that they begin evenly over the time.
const (
	streamCount  = 200
	perSide      = streamCount / 2
	streamEvery  = 20 * time.Millisecond
	streamEvents = 100
	streamPath   = "/v1/chat/completions"
)

// Streams of which one begins when the one before has ended and a pause is over: the processors have nothing else to do.
const (
	aloneCount  = 100
	aloneEvents = 3
	aloneEvery  = time.Millisecond
	alonePause  = 5 * time.Millisecond
)

// sentField is where an event of the model says when it was sent.
const sentField = `"sent":`

// Targets of streams: how much later than through a bare proxy an event and the first byte may come, in milliseconds.
const (
	eventTarget = 0.2
	firstTarget = 1
)

// streamGoals are those of streams.
func streamGoals() []goal {
	return []goal{
		{atMost, eventTarget, "ms", "an event comes later, p50"},
		{atMost, firstTarget, "ms", "an event comes later, p99"},
		{atMost, firstTarget, "ms", "one stream after another: the first byte comes later, p50"},
		{open, 0, "ms", "the first byte comes later, p50"},
		{open, 0, "ms", "the first byte comes later, p99"},
		{open, 0, "ms", "an event through the gateway, p50"},
		{open, 0, "ms", "an event through the gateway, p99"},
		{open, 0, "ms", "an event through the bare proxy, p50"},
		{open, 0, "ms", "an event through the bare proxy, p99"},
		{open, 0, "ms", "the first byte through the gateway, p50"},
		{open, 0, "ms", "the first byte through the bare proxy, p50"},
		{open, 0, "ms", "one stream after another: the first byte through the bare proxy, p50"},
		{open, 0, "×", "by processor time"},
		{open, 0, "ms", "one call after another of a service that decides nothing, p50"},
	}
}

// streams sends every other stream of a model through a gateway, which holds the estimate of each and settles it by its usage, and the others
// through a bare proxy. Both are measured at the same time, since a machine that is busy for a moment delays events by more than either does. All
// processes are on this machine, and have one clock.
//
//	generator ─┬─ gateway ────┬─ model
//	           │     └─ node  │
//	           └─ bare proxy ─┘
//
// A gateway asks a node before it forwards. What a call of another process takes at least is measured as that of a no-op.
func streams(ctx context.Context, t *Tabling, _ storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var run children
	defer func() { run.stop() }()
	sides, err := t.startStreamSides(ctx, folder, &run)
	if err != nil {
		return nil, err
	}
	noop, address, err := t.startNoop(ctx, shortHolds, false)
	if err != nil {
		return nil, err
	}
	run = append(run, noop)
	var rounds []streamRound
	var calls []float64
	for n := range 2*t.rounds() + 1 {
		r, err := measureStreams(ctx, &sides, t.duration())
		if err != nil {
			return nil, errors.Join(err, run.alive())
		}
		for i := range sides { // each after the other, too
			if r[i].alone, err = sides[i].measureAlone(ctx); err != nil {
				return nil, errors.Join(err, run.alive())
			}
		}
		call, err := measureCalls(ctx, address)
		if err != nil {
			return nil, errors.Join(err, run.alive())
		}
		t.say("an event, p50 and p99: gateway %v and %v, bare proxy %v and %v; the first byte: %v and %v, %v and %v; alone: %v, %v, a call %v; by processor time %.2f ×",
			r[0].event.P50, r[0].event.P99, r[1].event.P50, r[1].event.P99, r[0].first.P50, r[0].first.P99, r[1].first.P50, r[1].first.P99,
			r[0].alone, r[1].alone, call, r.cpu())
		if n > 0 { // the first one was the warm-up
			rounds, calls = append(rounds, r), append(calls, call.Seconds()*1e3)
		}
	}
	return append(spreadsOfStreams(rounds), spreadOf(calls)), nil
}

// A streamSide is one way to the model.
type streamSide struct {
	name    string
	address string
	metered bool // its answers have the id of an exchange
	run     children
}

// startStreamSides starts all processes, and adds them to run.
func (t *Tabling) startStreamSides(ctx context.Context, folder string, run *children) (sides [2]streamSide, err error) {
	model, err := t.startHTTP(ctx, Model)
	if err != nil {
		return sides, err
	}
	*run = append(*run, model.child)
	bare, err := t.startHTTP(ctx, BareProxy, "--upstream", "http://"+model.address)
	if err != nil {
		return sides, err
	}
	*run = append(*run, bare.child)
	node, err := t.startNode(ctx, filepath.Join(folder, "node"), storage.Memory)
	if err != nil {
		return sides, err
	}
	*run = append(*run, node.child)
	path := filepath.Join(folder, gatewayFile)
	if err := os.WriteFile(path, []byte(streamGatewayText(node.grpc, model.address)), 0o600); err != nil {
		return sides, err
	}
	gateway, err := t.startGatewayOf(ctx, path)
	if err != nil {
		return sides, err
	}
	*run = append(*run, gateway.child)
	return [2]streamSide{
		{"gateway", gateway.proxy, true, children{gateway.child, node.child}},
		{"bare proxy", bare.address, false, children{bare.child}},
	}, nil
}

// streamGatewayText is the document of a gateway that counts the tokens of streams.
func streamGatewayText(node, model string) string {
	return fmt.Sprintf(`name: bench
cluster: {servers: [%s], decide_within: 10s}
admin: {listen: "127.0.0.1:0"}
forward_auth: {listen: "127.0.0.1:0"}
proxy: {listen: "127.0.0.1:0", upstreams: {model: {urls: ["http://%s"]}}}
routes:
  - {name: chat, path: %s, llm: {api: openai-chat}, checks: [{limits: [%s], counts: tokens, on_unavailable: deny}]}
`, node, model, streamPath, shortHolds)
}

// measureStreams measures both sides at the same time.
func measureStreams(ctx context.Context, sides *[2]streamSide, d time.Duration) (r streamRound, err error) {
	undo := thriftyGC()
	defer undo()
	var errs [2]error
	var both sync.WaitGroup
	for i := range sides {
		both.Go(func() {
			if r[i], errs[i] = sides[i].measure(ctx, d); errs[i] != nil {
				errs[i] = fmt.Errorf("streams through the %s: %w", sides[i].name, errs[i])
			}
		})
	}
	both.Wait()
	return r, errors.Join(errs[:]...)
}

// measure keeps the streams open through a side, for a while and a quarter of it before.
func (s *streamSide) measure(ctx context.Context, d time.Duration) (streamResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	transport := &http.Transport{MaxIdleConnsPerHost: perSide, DisableCompression: true}
	defer transport.CloseIdleConnections()
	begin := time.Now().Add(d / 4)
	end := begin.Add(d)
	readers := make([]streamReader, perSide)
	asked := asksForStream(streamEvents, streamEvery)
	var all sync.WaitGroup
	for i := range readers {
		readers[i] = streamReader{side: s, client: &http.Client{Transport: transport}, asked: asked, begin: begin, end: end}
		all.Go(func() {
			pause(ctx, streamEvery*streamEvents/perSide*time.Duration(i))
			if err := readers[i].read(ctx); err != nil {
				cancel(err) // of which the first one counts
			}
		})
	}
	pause(ctx, time.Until(begin))
	before := s.run.cpu()
	pause(ctx, time.Until(end))
	cpu := s.run.cpu() - before
	all.Wait()
	if ctx.Err() != nil {
		return streamResult{}, context.Cause(ctx)
	}
	var events, firsts []time.Duration
	for i := range readers {
		events, firsts = append(events, readers[i].events...), append(firsts, readers[i].firsts...)
	}
	if len(events) == 0 || len(firsts) == 0 {
		return streamResult{}, fmt.Errorf("%d events of %d streams came in time: a longer duration is needed", len(events), len(firsts))
	}
	return streamResult{event: percentilesOf(events), first: percentilesOf(firsts), cpu: cpu}, nil
}

// measureAlone reads one short stream after another, and says how long the first byte takes, p50.
func (s *streamSide) measureAlone(ctx context.Context) (time.Duration, error) {
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	r := streamReader{
		side: s, client: &http.Client{Transport: transport}, asked: asksForStream(aloneEvents, aloneEvery), end: time.Now().Add(time.Hour),
	}
	for range aloneCount {
		if err := r.stream(ctx); err != nil {
			return 0, fmt.Errorf("one stream after another through the %s: %w", s.name, err)
		}
		if pause(ctx, alonePause); ctx.Err() != nil {
			return 0, errInterrupted
		}
	}
	return percentilesOf(r.firsts).P50, nil
}

// measureCalls makes one call after another of a service, and says how long one takes, p50.
func measureCalls(ctx context.Context, server string) (p50 time.Duration, err error) {
	c, err := client.New(client.Config{Servers: []string{server}, Timeout: patience})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var took []time.Duration
	for range aloneCount {
		begin := time.Now()
		if _, err := c.Check(ctx, limit.Request{Key: "a", Limits: []limit.Ref{limit.Named(shortHolds)}, Cost: 1}); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
		if pause(ctx, alonePause); ctx.Err() != nil {
			return 0, errInterrupted
		}
	}
	return percentilesOf(took).P50, nil
}

// A streamAsk asks the model for a stream.
type streamAsk struct {
	events int
	body   string
}

// asksForStream asks for a stream of so many events.
func asksForStream(events int, every time.Duration) streamAsk {
	return streamAsk{events, fmt.Sprintf(`{"model":"m","stream":true,"max_tokens":%d,"events":%d,"every":%d,"messages":[{"role":"user","content":"Tell me a story."}]}`,
		2*events, events, every)}
}

// A streamReader reads one stream after another.
type streamReader struct {
	side       *streamSide
	client     *http.Client
	asked      streamAsk
	begin, end time.Time // between which is measured

	events, firsts []time.Duration // how late events came, and how long after the request the first ones
}

// read reads streams until the time is over.
func (r *streamReader) read(ctx context.Context) error {
	for time.Now().Before(r.end) {
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err := r.stream(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stream reads one stream to its end.
func (r *streamReader) stream(ctx context.Context) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.side.address+streamPath, strings.NewReader(r.asked.body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	asked := time.Now()
	a, err := r.client.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if metered := a.Header.Get("X-Jeton-Exchange") != ""; a.StatusCode != http.StatusOK || metered != r.side.metered {
		return fmt.Errorf("answered %s, and its tokens count: %v", a.Status, metered)
	}
	events := 0
	lines := bufio.NewScanner(a.Body)
	for lines.Scan() {
		_, after, ok := bytes.Cut(lines.Bytes(), []byte(sentField))
		if !ok {
			continue
		}
		now := time.Now()
		sent, err := strconv.ParseInt(string(bytes.TrimRight(after, "}")), 10, 64)
		if err != nil {
			return err
		}
		if events++; now.After(r.begin) && now.Before(r.end) {
			if events == 1 {
				r.firsts = append(r.firsts, now.Sub(asked))
			} else {
				r.events = append(r.events, time.Duration(now.UnixNano()-sent))
			}
		}
	}
	if err := lines.Err(); err != nil || events != r.asked.events {
		return fmt.Errorf("%d events came of %d: %w", events, r.asked.events, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// A streamResult is what was measured of one side: how late events came, how long the first byte took, and the processor time of the side; and
// how long it took where one stream came after another, p50.
type streamResult struct {
	event, first Percentiles
	cpu          time.Duration
	alone        time.Duration
}

// percentilesOf are those of values.
func percentilesOf(values []time.Duration) Percentiles {
	h := hdrhistogram.New(shortest, longest, digits)
	for _, v := range values {
		h.RecordValue(min(max(int64(v), shortest), longest)) //nolint:errcheck // within its bounds
	}
	return percentiles(h)
}

// A streamRound is what was measured of both sides, at the same time.
type streamRound [2]streamResult

// cpu is how many times as much processor time the gateway and its node take as the bare proxy.
func (r *streamRound) cpu() float64 { return float64(r[0].cpu) / float64(r[1].cpu) }

// spreadsOfStreams are the values of streamGoals.
func spreadsOfStreams(rounds []streamRound) []Spread[float64] {
	ms := func(value func(*streamRound) time.Duration) Spread[float64] {
		return spreadOver(rounds, func(r streamRound) float64 { return value(&r).Seconds() * 1e3 })
	}
	return []Spread[float64]{
		ms(func(r *streamRound) time.Duration { return r[0].event.P50 - r[1].event.P50 }),
		ms(func(r *streamRound) time.Duration { return r[0].event.P99 - r[1].event.P99 }),
		ms(func(r *streamRound) time.Duration { return r[0].alone - r[1].alone }),
		ms(func(r *streamRound) time.Duration { return r[0].first.P50 - r[1].first.P50 }),
		ms(func(r *streamRound) time.Duration { return r[0].first.P99 - r[1].first.P99 }),
		ms(func(r *streamRound) time.Duration { return r[0].event.P50 }),
		ms(func(r *streamRound) time.Duration { return r[0].event.P99 }),
		ms(func(r *streamRound) time.Duration { return r[1].event.P50 }),
		ms(func(r *streamRound) time.Duration { return r[1].event.P99 }),
		ms(func(r *streamRound) time.Duration { return r[0].first.P50 }),
		ms(func(r *streamRound) time.Duration { return r[1].first.P50 }),
		ms(func(r *streamRound) time.Duration { return r[1].alone }),
		spreadOver(rounds, func(r streamRound) float64 { return r.cpu() }),
	}
}
