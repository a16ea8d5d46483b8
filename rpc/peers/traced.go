package peers

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/internal/traced"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// tracerName is the instrumentation scope of the spans.
const tracerName = "github.com/jeton-dev/jeton/rpc/peers"

const (
	// maxTraced is how many spans a message of reservations gets at most: each is a child of a check that waits.
	maxTraced = 32
	// maxLinks is how many of the others each of them names at most: what makes the spans holds a shard up.
	maxLinks = 4
)

// TraceOwn makes a span of each reservation at a node's own registers that a traced check waits for: from when it is handed in until it is
// answered, after the fsync that covers it.
func TraceOwn(of actor.Replica, by trace.TracerProvider, node string) actor.Replica {
	return tracedReplica{of, tracedWrites{by.Tracer(tracerName), node, []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal)}}}
}

// TracePeers is TraceOwn for what other nodes reserve here.
func TracePeers(of Registers, by trace.TracerProvider, node string) Registers {
	return tracedRegisters{of, tracedWrites{by.Tracer(tracerName), node, []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}}}
}

type tracedReplica struct {
	actor.Replica
	writes tracedWrites
}

// Reserve implements [actor.Replica].
func (t tracedReplica) Reserve(rs []reg.Reservation, done func([]reg.Answer, error)) {
	t.Replica.Reserve(rs, t.writes.follow(rs, done))
}

type tracedRegisters struct {
	Registers
	writes tracedWrites
}

// Reserve implements [Registers].
func (t tracedRegisters) Reserve(rs []reg.Reservation, done func([]reg.Answer, error)) {
	t.Registers.Reserve(rs, t.writes.follow(rs, done))
}

// tracedWrites make the spans of what is reserved at one node.
type tracedWrites struct {
	tracer  trace.Tracer
	node    string
	options []trace.SpanStartOption
}

// A write is the span of one reservation.
type write struct {
	place int // of the reservation in its message
	span  trace.Span
}

// follow begins the spans of a message, and returns what ends them and then calls done. One fsync serves all reservations of a message, and
// perhaps other messages: each span has links to those of other checks that wait for it, the next ones in the message.
func (t tracedWrites) follow(rs []reg.Reservation, done func([]reg.Answer, error)) func([]reg.Answer, error) {
	if !slices.ContainsFunc(rs, func(r reg.Reservation) bool { return r.Trace != "" }) {
		return done
	}
	var writes []write
	var waiting []trace.Link
	for i := 0; i < len(rs) && len(writes) < maxTraced; i++ {
		if rs[i].Trace == "" {
			continue
		}
		ctx := traced.UnderText(context.Background(), rs[i].Trace)
		if _, span := traced.Start(ctx, t.tracer, "jeton.reserve", t.options...); span != nil {
			span.SetAttributes(
				attribute.String("jeton.node", t.node), attribute.String("jeton.limit", rs[i].Limit), attribute.Int("jeton.message_reservations", len(rs)),
			)
			writes = append(writes, write{i, span})
			waiting = append(waiting, trace.Link{SpanContext: trace.SpanContextFromContext(ctx)})
		}
	}
	for i, w := range writes {
		for n := range min(maxLinks, len(waiting)-1) {
			w.span.AddLink(waiting[(i+1+n)%len(waiting)])
		}
	}
	return func(answers []reg.Answer, err error) {
		for _, w := range writes {
			w.end(answers, err)
		}
		done(answers, err)
	}
}

// end ends the span of a reservation with its answer.
func (w write) end(answers []reg.Answer, err error) {
	switch {
	case err != nil:
		w.span.SetStatus(codes.Error, traced.Reason(err))
	case w.place < len(answers):
		w.span.SetAttributes(attribute.Bool("jeton.accepted", answers[w.place].Verdict == reg.Accepted))
	}
	w.span.End()
}
