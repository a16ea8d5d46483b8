// Command collector is the receiver of OpenTelemetry's collector for OTLP over gRPC, which writes each span that it gets as a line of JSON:
//
//	collector 127.0.0.1:4317
//
// It is a module of its own: what it needs is nothing that jeton needs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: collector ADDRESS")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	factory := otlpreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig()
	asked := map[string]any{"protocols": map[string]any{"grpc": map[string]any{"endpoint": args[0]}}}
	if err := confmap.NewFromStringMap(asked).Unmarshal(cfg); err != nil {
		return err
	}
	to, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error { return write(td) })
	if err != nil {
		return err
	}
	receiver, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), cfg, to)
	if err != nil {
		return err
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "collecting")
	<-ctx.Done()
	return receiver.Shutdown(context.Background())
}

// A line is one span.
type line struct {
	Service, Instance    string
	Name, Kind           string
	Trace, Span, Parent  string
	Links                []string
	Attributes           map[string]any
	StartNano, EndNano   int64
	Status, StatusReason string
}

// write writes the spans of a message.
func write(td ptrace.Traces) error {
	out := json.NewEncoder(os.Stdout)
	for _, of := range td.ResourceSpans().All() {
		service, _ := of.Resource().Attributes().Get("service.name")
		instance, _ := of.Resource().Attributes().Get("service.instance.id")
		for _, scope := range of.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				l := line{
					Service: service.AsString(), Instance: instance.AsString(), Name: span.Name(), Kind: span.Kind().String(),
					Trace: span.TraceID().String(), Span: span.SpanID().String(), Parent: span.ParentSpanID().String(),
					Attributes: span.Attributes().AsRaw(), StartNano: int64(span.StartTimestamp()), EndNano: int64(span.EndTimestamp()),
					Status: span.Status().Code().String(), StatusReason: span.Status().Message(),
				}
				for _, link := range span.Links().All() {
					l.Links = append(l.Links, link.TraceID().String()+"/"+link.SpanID().String())
				}
				if err := out.Encode(l); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
