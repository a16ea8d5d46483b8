package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm"
	"github.com/jeton-dev/jeton/gateway/llm/dialect"
	"github.com/jeton-dev/jeton/gateway/metering"
)

// llmRules say how the requests of a route to a language model are read and held.
type llmRules struct {
	format       *llm.Format
	output       int64 // of a request that names no maximum, for each choice
	leastOutput  int64 // to which a maximum may be lowered; 0 for never
	hold         time.Duration
	prices       llm.PriceList // nil where no check counts money
	budgetStatus int
	meter        *metering.Meter
	series       *metering.Route
}

// compileLLM makes the rules of a route; nil if it is none to a language model.
func compileLLM(from *config.Route, meter *metering.Meter) (*llmRules, error) {
	l := from.LLM
	if l == nil {
		return nil, nil //nolint:nilnil // there are none
	}
	r := &llmRules{
		output: l.Output(), leastOutput: l.LeastOutput, hold: l.HoldFor(), budgetStatus: l.BudgetStatus(), meter: meter, series: meter.Route(from.Name),
	}
	var err error
	if r.format, err = l.Format(); err != nil {
		return nil, err
	}
	if len(l.Prices) > 0 {
		r.prices, err = l.PriceList()
	}
	return r, err
}

// An llmVisit is what is read of a request to a language model, and what is held for it. The methods of nil, which is of another request,
// do nothing.
type llmVisit struct {
	*llmRules

	request  *llm.Request
	estimate llm.Usage
	prices   llm.Rates // of its model
	exchange *metering.Exchange
	output   int64  // that each choice may have, as far as the checks have granted it
	lowered  int64  // maximum that the upstream gets instead; 0 for none
	added    bool   // the gateway asks for the usage, and the client has not
	id       string // of the exchange, once it has started
}

// longestRead bounds the bodies that are read where proxy.max_body does not.
const longestRead = 64 << 20

// readModelRequest reads the body of a request to a language model. It returns false if the request is refused. Requests that have no body by
// their methods, such as a GET of an earlier answer, are no requests to the model.
func (v *visit) readModelRequest(ctx context.Context) bool {
	if v.route == nil || v.route.llm == nil || bodiless(v.request.Method) {
		return true
	}
	if v.feedback != deliveryFeedback {
		v.refuse(unavailable, "this route leads to a language model: only the proxy of the gateway can count its tokens")
		return false
	}
	if encoding := v.request.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		v.refuse(badRequest, "the body is compressed: send it without Content-Encoding")
		return false
	}
	rules := v.route.llm
	body, ok := v.readBody(ctx)
	if !ok {
		return false
	}
	request, err := rules.format.ReadRequest(body)
	if err != nil {
		v.refuse(badRequest, err.Error())
		if wrong, ok := errors.AsType[*llm.FieldError](err); ok && wrong.Field != "body" {
			v.refusal.Param = wrong.Field
		}
		return false
	}
	l := &llmVisit{llmRules: rules, request: request, estimate: request.Estimate(rules.output), output: rules.output}
	if request.Limited {
		l.output = request.MaxOutput
	}
	if rules.prices != nil {
		if l.prices, ok = rules.prices.Of(request.Model); !ok {
			v.refuse(badRequest, "the model has no price here: use another one")
			v.refusal.Param = "model"
			return false
		}
	}
	l.exchange = rules.meter.Begin(rules.series, l.estimate)
	v.llm = l
	return true
}

// bodiless says whether requests of a method have no body.
func bodiless(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete:
		return true
	}
	return false
}

// readBody reads the whole body of a request. It returns false if the request is refused.
func (v *visit) readBody(ctx context.Context) (body []byte, ok bool) {
	bound := v.rules.maxBody
	if bound < 0 {
		bound = longestRead
	}
	if v.body == nil {
		return nil, true
	}
	if b, paced := v.body.(*requestBody); paced && v.route.upstream != nil {
		b.rate = v.route.upstream.config.MinBodyRate(b.rate)
	}
	body, err := llm.ReadBody(v.body, bound)
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		return body, true
	case errors.Is(err, llm.ErrTooLarge), errors.As(err, &tooLong):
		v.refuse(tooLarge, bodyTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		v.refuse(bodyTimeout, "the body of the request arrived too slowly")
	case ctx.Err() != nil:
		v.cutOff(ctx)
	default:
		v.refuse(badRequest, "the body of the request breaks off, or its encoding is malformed")
	}
	return nil, false
}

// asks says whether a check is made: those of tokens, money and streams are of requests to the model alone.
func (l *llmVisit) asks(c *check) bool { return l != nil || c.counts == config.CountsRequests }

// rates are what a token costs by a check.
func (l *llmVisit) rates(c *check) llm.Rates {
	if c.counts == config.CountsMoney {
		return l.prices
	}
	return c.weights
}

// ask makes a check one that holds the estimate, or takes a permit. The estimate may be beyond all limits: a hold then asks for the most that
// there can be, and so is denied or granted less.
func (l *llmVisit) ask(c *check, r *limit.Request) {
	if c.counts == config.CountsStreams {
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
func (l *llmVisit) take(c *check, r *limit.Request, d *limit.Decision, shownKey string) {
	if c.counts == config.CountsStreams {
		for _, receipt := range d.Receipts {
			l.exchange.AddPermit(r.Key, receipt)
		}
		return
	}
	if d.Hold == nil {
		return
	}
	rates := l.rates(c)
	l.exchange.AddHold(metering.Holding{Hold: *d.Hold, Counts: c.counts, ShownKey: shownKey, Rates: rates, Asked: r.Cost, For: l.hold})
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

// start begins the exchange of a request that passes.
func (l *llmVisit) start(ctx context.Context, v *visit, at time.Time) {
	record := denial.Record{
		At: at, Route: v.request.Route, Method: clip(v.request.Method, maxMethod), Path: clip(v.request.Path, maxPath), Reason: v.outcome.String(),
		Cost: v.cost, Node: v.node, Source: string(v.source), APIKey: v.facts.KeyLabel(), Exchange: l.described(),
	}
	if v.key.Text != "" {
		record.Key = shownKey(v.key)
	}
	l.id = l.exchange.Start(ctx, record, sampled(v.rules.document.Log.Allowed))
}

// described is what is known of the request; nil of another one.
func (l *llmVisit) described() *denial.Exchange {
	if l == nil {
		return nil
	}
	return &denial.Exchange{
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

// lower lowers the maximum of output to what the checks have granted. It returns false if the request is refused: its body has no place
// for the maximum.
func (v *visit) lower() bool {
	l := v.llm
	if l == nil || l.lowered == 0 {
		return true
	}
	if err := l.request.LowerOutput(l.lowered); err != nil {
		v.refuse(badRequest, err.Error())
		return false
	}
	return true
}

// forwarded is a request as the model gets it: with its maximum lowered, and asked for its usage.
func (l *llmVisit) forwarded(r *http.Request) *http.Request {
	l.added = l.request.AskForUsage()
	body := l.request.Body()
	out := r.WithContext(r.Context())
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return out
}

// statusGone stands in records for the answer to a client that has left, as nginx has it.
const statusGone = 499

// unanswered settles an exchange that no model has answered, with that outcome.
func (l *llmVisit) unanswered(x *exchange, o outcome) {
	if o == canceled {
		l.exchange.Unanswered(statusGone, x.sent.Load())
		return
	}
	l.exchange.Unanswered(x.route.answer.Status(o.kind()), false)
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
