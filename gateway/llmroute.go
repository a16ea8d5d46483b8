package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm"
	"github.com/jeton-dev/jeton/gateway/llm/dialect"
	"github.com/jeton-dev/jeton/gateway/metering"
	"github.com/jeton-dev/jeton/gateway/route"
)

// llmRules say how the requests of a route to a language model are read and held.
type llmRules struct {
	format      *llm.Format
	depth       int   // of the route's path, in segments
	output      int64 // of a request that names no maximum, for each choice
	leastOutput int64 // to which a maximum may be lowered; 0 for never
	hold        time.Duration
	prices      llm.PriceList // nil where no check counts money
	counts      bool          // a check counts what answers use, and not requests alone
	meter       *metering.Meter
	series      *metering.Route
}

// compileLLM makes the rules of a route; nil if it is none to a language model.
func compileLLM(from *config.Route, meter *metering.Meter) (*llmRules, error) {
	l := from.LLM
	if l == nil {
		return nil, nil //nolint:nilnil // there are none
	}
	r := &llmRules{
		depth:  depth(strings.TrimSuffix(from.Path, "$")),
		output: l.Output(), leastOutput: l.LeastOutput, hold: l.HoldFor(), meter: meter, series: meter.Route(from.Name),
	}
	r.counts = slices.ContainsFunc(from.Checks, func(c config.Check) bool { return c.Unit() != config.CountsRequests })
	var err error
	if r.format, err = l.Format(); err != nil {
		return nil, err
	}
	if len(l.Prices) > 0 {
		r.prices, err = l.PriceList()
	}
	return r, err
}

// An llmVisit is what is read of a request to a language model, and what is held for it. It is nil for another request, of which only asks,
// releaseUnless, described, attrs and setID may be called.
type llmVisit struct {
	*llmRules

	request  *llm.Request // nil once it is forwarded
	room     *bodyRoom    // that its body takes
	estimate llm.Usage
	price    llm.Rates // of its model
	exchange *metering.Exchange
	output   int64  // that each choice may have, as far as the checks have granted it
	lowered  int64  // maximum that the upstream gets instead; 0 for none
	added    bool   // the gateway asks for the usage, and the client has not
	id       string // of the exchange, once it has started
}

// exchangeHeader has the id of an exchange with a language model, for clients who ask an operator about it.
const exchangeHeader = "X-Jeton-Exchange"

// A misread is why a request to a model cannot be read: the outcome, a text for the client, and the field that is wrong, if it is one.
type misread struct {
	outcome       outcome
	detail, param string
}

// leadsTo says whether a path is one of the model: the route's own, or one that ends as those of its API do. What else stands below may be
// another API, such as one of batches, whose answers do not tell what they use.
func (r *llmRules) leadsTo(path string) bool {
	path = route.Clean(path)
	end := r.format.Path()
	return end == "" || strings.HasSuffix(path, end) || depth(path) == r.depth
}

// depth is how many segments a path has.
func depth(path string) int { return strings.Count(strings.Trim(path, "/")+"/", "/") }

// read reads a request to a model; its body has at most so many bytes, and takes them of a room. Of two results one is nil.
func (r *llmRules) read(ctx context.Context, path string, h http.Header, body io.Reader, bound int64, room *bodyRoom) (*llmVisit, *misread) {
	if !r.leadsTo(path) {
		return nil, &misread{notFound, "this route leads to language models, at paths that end with " + r.format.Path() + ": another API needs a route of its own", ""}
	}
	if slices.ContainsFunc(h["Content-Encoding"], func(e string) bool { return e != "" && e != "identity" }) {
		return nil, &misread{badRequest, "the body is compressed: send it without Content-Encoding", ""}
	}
	text, wrong := readWhole(ctx, body, bound, room)
	if wrong != nil {
		return nil, wrong
	}
	request, err := r.format.ReadRequest(text)
	if err != nil {
		field, _ := errors.AsType[*llm.FieldError](err)
		if field == nil || field.Field == "body" {
			return nil, &misread{badRequest, err.Error(), ""}
		}
		return nil, &misread{badRequest, err.Error(), field.Field}
	}
	if request.Background && r.counts {
		return nil, &misread{badRequest, "background: the answer would come after the response, and what it uses could not be counted: leave it out, or send false", "background"}
	}
	l := &llmVisit{llmRules: r, request: request, room: room, estimate: request.Estimate(r.output), output: r.output}
	if request.Limited {
		l.output = request.MaxOutput
	}
	if r.prices != nil {
		var priced bool
		if l.price, priced = r.prices.Of(request.Model); !priced {
			return nil, &misread{badRequest, "the model has no price here: use another one", "model"}
		}
	}
	l.exchange = r.meter.Begin(r.series, request.Model, l.estimate)
	return l, nil
}

// bodiless says whether requests of a method need no body.
func bodiless(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete:
		return true
	}
	return false
}

// readWhole reads the whole body of a request.
func readWhole(ctx context.Context, body io.Reader, bound int64, room *bodyRoom) ([]byte, *misread) {
	if body == nil {
		return nil, nil
	}
	text, err := llm.ReadBody(body, bound, room.take)
	var tooLong *http.MaxBytesError
	full, isFull := errors.AsType[noRoomError](err)
	switch {
	case err == nil:
		return text, nil
	case isFull:
		return nil, &misread{full.outcome, full.Error(), ""}
	case errors.Is(err, llm.ErrTooLarge), errors.As(err, &tooLong):
		return nil, &misread{tooLarge, bodyTooLarge(bound), ""}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &misread{bodyTimeout, "the body of the request arrived too slowly", ""}
	case ctx.Err() != nil:
		return nil, &misread{canceled, "", ""}
	default:
		return nil, &misread{badRequest, "the body of the request breaks off, or its encoding is malformed", ""}
	}
}

// asks says whether a check is made: those of tokens, money and streams are of requests to the model alone.
func (l *llmVisit) asks(c *check) bool { return l != nil || !c.counts.ofModels }

// rates are what a token costs by a check.
func (l *llmVisit) rates(c *check) llm.Rates {
	if c.counts.prices != nil {
		return l.price
	}
	return c.counts.weights
}

// ask makes a check one that holds the estimate, or takes a permit. The estimate may be beyond all limits: a hold then asks for the most that
// there can be, and so is denied or granted less.
func (l *llmVisit) ask(c *check, r *limit.Request) {
	if c.counts.permits {
		r.Cost, r.Receipt = 1, true
		return
	}
	cost := func(output int64) int64 {
		u := llm.Usage{Input: l.estimate.Input, Output: saturated(output, l.request.Choices)}
		return min(max(l.rates(c).Dearest().Cost(u), 1), limit.MaxCount)
	}
	r.Cost, r.Hold = cost(l.output), l.hold
	if l.leastOutput > 0 && l.leastOutput < l.output {
		r.Least = cost(l.leastOutput)
	}
}

// saturated is a times b, which is at least 1, or the greatest number.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// take notes what a check has taken, and how much output it has granted. A check that no node has decided holds nothing.
func (l *llmVisit) take(c *check, of *limits, r *limit.Request, d *limit.Decision, shownKey string) {
	if c.counts.permits {
		for _, receipt := range d.Receipts {
			l.exchange.AddPermit(of.cluster.holds, r.Key, receipt)
		}
		return
	}
	if d.Hold == nil {
		return
	}
	rates := l.rates(c)
	l.exchange.AddHold(metering.Holding{
		Hold: *d.Hold, At: of.cluster.holds, Counts: c.counts.name, ShownKey: shownKey, ShownLimits: of.holding(d.Hold), Rates: rates, Prices: c.counts.prices, Asked: r.Cost, For: l.hold,
	})
	if d.Hold.Granted < r.Cost {
		l.lowered = max(l.request.OutputWithin(d.Hold.Granted, rates.Dearest(), l.output), l.leastOutput)
		l.output = l.lowered
	}
}

// releaseUnless gives back what was taken for a request that is refused.
func (l *llmVisit) releaseUnless(ctx context.Context, passes func() bool) {
	if l != nil && !passes() {
		l.exchange.Release(ctx)
	}
}

// described is what is known of the request; nil of another one.
func (l *llmVisit) described() *denial.ModelRequest {
	if l == nil {
		return nil
	}
	return &denial.ModelRequest{
		Model: clip(l.request.Model, maxModel), Stream: l.request.Stream, Input: l.estimate.Input, Output: l.estimate.Output, Lowered: l.lowered,
	}
}

// attrs are those of the log line.
func (l *llmVisit) attrs() []slog.Attr {
	if l == nil {
		return nil
	}
	attrs := []slog.Attr{slog.String("model", clip(l.request.Model, maxModel)), slog.Int64("estimate", l.estimate.Total())}
	if l.lowered > 0 {
		attrs = append(attrs, slog.Int64("lowered", l.lowered))
	}
	if l.id != "" {
		attrs = append(attrs, slog.String("exchange", l.id))
	}
	return attrs
}

// setID tells the client the id of the exchange, also in the header in which its SDK looks for one.
func (l *llmVisit) setID(h http.Header, d dialect.Dialect) {
	if l == nil || l.id == "" {
		return
	}
	h.Set(exchangeHeader, l.id)
	if d != 0 {
		h.Set(d.RequestID(), l.id)
	}
}

// notForModels are headers by which the answer may be a part, or none, though the model has worked for all of it; and the one of the gateway's
// own id.
var notForModels = []string{
	"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", exchangeHeader,
}

// rewrite makes the header that the model gets, so that it reads the body as the gateway has: as JSON, whatever the client calls it.
func (l *llmVisit) rewrite(h http.Header) {
	llm.RequestIdentity(h)
	h.Del("Content-Encoding")
	if kind := h["Content-Type"]; len(kind) != 1 || !strings.HasSuffix(kind[0], "json") || strings.ContainsAny(kind[0], ",; \t") {
		h.Set("Content-Type", "application/json")
	}
	for _, name := range notForModels {
		h.Del(name)
	}
}

// forwarded is a request as the model gets it: with its maximum lowered, and asked for its usage. From then on its body alone keeps what the
// client has sent.
func (l *llmVisit) forwarded(r *http.Request) *http.Request {
	l.added = l.request.AskForUsage()
	out := r.WithContext(r.Context())
	out.Body, out.ContentLength = newModelBody(l.request.Body(), l.room)
	out.TransferEncoding = nil
	l.request = nil
	return out
}

// statusGone stands in records for the answer to a client that has left, as nginx has it.
const statusGone = 499

// unanswered settles an exchange that no model has answered, with that outcome and status. Sent says whether the model may have got it. What a
// client can bring about costs the estimate then: that the client leaves, and that no answer comes in time, by a deadline of its own or
// because it asks for too much.
func (l *llmVisit) unanswered(o outcome, status int, sent bool) {
	if o == canceled {
		status = statusGone
	}
	l.exchange.Unanswered(status, sent && (o == canceled || o == upstreamTimeout))
}

// answered reads the upstream's answer, and takes the upstream's own limits and ids out of it where the gateway has some.
func (l *llmVisit) answered(r *http.Response, own http.Header, d dialect.Dialect) {
	l.exchange.Watch(r, l.format, l.added)
	r.Header.Del(exchangeHeader)
	if d == 0 {
		return
	}
	for _, name := range d.Headers() {
		delete(r.Header, name)
	}
	if r.Header.Get(d.RequestID()) != "" {
		own.Del(d.RequestID())
	}
}
