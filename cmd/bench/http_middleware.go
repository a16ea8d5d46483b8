package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
)

// middlewareAlone asks a handler as an HTTP server would, without any network, by itself and behind the middleware of a
// gateway that asks a node in this process, in turn. It tells by how many microseconds and allocations a request costs
// more, and by how many microseconds of processor time: of that there is as much as there are cores, and other programs
// take nothing of it.
func middlewareAlone(ctx context.Context, b *httpBed) (spreads []Spread[float64], _ []HTTPPair, err error) {
	folder := filepath.Join(b.folder, "middleware")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, nil, err
	}
	n, doc, err := openLimited(filepath.Join(folder, "data"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, n.Close(context.WithoutCancel(ctx))) }()
	g, err := b.openGateway(folder, n, doc)
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	keys, err := newKeySpace(b.load(1))
	if err != nil {
		return nil, nil, err
	}
	bare := http.HandlerFunc(answerNothing)
	handlers := [2]http.Handler{gateway.Middleware(g)(bare), bare}
	var times, allocations, cpus []float64
	for i := range b.Pairs + 1 {
		var cost [2]handlerCost
		for k := range handlers {
			which := (i + k) % 2
			cost[which], err = b.askHandler(ctx, handlers[which], keys, which == 0)
			if err != nil {
				return nil, nil, err
			}
		}
		if i == 0 { // the first one was the warm-up
			continue
		}
		gateway, bare := cost[0], cost[1]
		b.say("pair %d of %d: the handler %.3f µs, behind the middleware %.3f µs, %.3f µs of processor time and %.2f allocations more",
			i, b.Pairs, bare.took, gateway.took, gateway.cpu-bare.cpu, gateway.allocated-bare.allocated)
		times, cpus = append(times, gateway.took-bare.took), append(cpus, gateway.cpu-bare.cpu)
		allocations = append(allocations, gateway.allocated-bare.allocated)
	}
	return []Spread[float64]{spreadOf(times), spreadOf(allocations), spreadOf(cpus)}, nil, nil
}

// openLimited opens a node without any listener, with the limits of a comparison.
func openLimited(data string) (*node.Node, *limit.Document, error) {
	doc, err := limit.ParseDocument([]byte(limitsText))
	if err != nil {
		return nil, nil, err
	}
	n, err := node.Open(node.Config{Data: data, Durability: durabilityOfHTTP, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	n.SetLimits(doc)
	return n, doc, nil
}

// openGateway makes a gateway in this process with the configuration of those that are measured.
func (b *httpBed) openGateway(folder string, checker limit.Checker, limits *limit.Document) (*gateway.Gateway, error) {
	if err := os.WriteFile(filepath.Join(folder, secretFile), []byte(apiSecret), 0o600); err != nil {
		return nil, err
	}
	text, err := b.gatewayText([]string{"127.0.0.1:7700"}, "http://127.0.0.1:9000") // which are never asked
	if err != nil {
		return nil, err
	}
	d, err := config.Parse([]byte(text), folder)
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{
		Document: d, Checker: checker, Limits: func() *limit.Document { return limits },
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
}

// A handlerCost is what goes by for each request: microseconds, allocations, and microseconds of processor time.
type handlerCost struct{ took, allocated, cpu float64 }

// askHandler has all callers ask a handler for a while.
func (b *httpBed) askHandler(ctx context.Context, h http.Handler, keys *keySpace, limited bool) (handlerCost, error) {
	var (
		callers  sync.WaitGroup
		requests [embeddedCallers]int64
		errs     [embeddedCallers]error
	)
	objects, used, start := mallocs(), ownCPU(), time.Now()
	end := start.Add(b.Duration)
	for i := range embeddedCallers {
		callers.Go(func() {
			c := handlerCaller{handler: h, keys: keys.pickerOf(0, i), header: b.clientHeader(), limited: limited}
			requests[i], errs[i] = c.ask(ctx, end)
		})
	}
	callers.Wait()
	elapsed := time.Since(start)
	used, objects = ownCPU()-used, mallocs()-objects
	if ctx.Err() != nil {
		return handlerCost{}, errInterrupted
	}
	total := int64(0)
	for _, n := range requests {
		total += n
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(max(total, 1)) }
	return handlerCost{share(elapsed), perOperation(objects, total), share(used)}, errors.Join(errs[:]...)
}

// A handlerCaller asks a handler with the same request again and again, but for the client that it is of.
type handlerCaller struct {
	handler http.Handler
	keys    *picker
	header  string // that names the client
	limited bool   // an answer is to tell of a limit
}

// ask asks until then, and at least once. It returns how many requests were answered.
func (c *handlerCaller) ask(ctx context.Context, end time.Time) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/v1/things/0193f1c2?expand=price", http.NoBody)
	if err != nil {
		return 0, err
	}
	r.RemoteAddr, r.RequestURI = "192.0.2.7:40000", r.URL.RequestURI()
	r.Header.Set("User-Agent", "jeton-bench")
	r.Header.Set("Accept", "application/json")
	w := &answerSink{header: http.Header{}}
	keys, who := make([]string, 64), make([]string, 1)
	r.Header[c.header] = who
	n := int64(0)
	for ; (n == 0 || time.Now().Before(end)) && ctx.Err() == nil; n += int64(len(keys)) {
		c.keys.pick(keys)
		for _, who[0] = range keys {
			w.status = 0
			clear(w.header)
			c.handler.ServeHTTP(w, r)
			if w.status != http.StatusNoContent || c.limited != (len(w.header["Ratelimit"]) > 0) {
				return 0, fmt.Errorf("a request was answered %d, with header %v: not what was to be measured", w.status, w.header)
			}
		}
	}
	return n, nil
}

// An answerSink is a writer of an answer that keeps its status and header.
type answerSink struct {
	header http.Header
	status int
}

// Header, Write and WriteHeader are those of an [http.ResponseWriter].
func (w *answerSink) Header() http.Header { return w.header }

// Write counts as status 200 where none was written.
func (w *answerSink) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return len(b), nil
}

// WriteHeader keeps the status.
func (w *answerSink) WriteHeader(status int) { w.status = status }
