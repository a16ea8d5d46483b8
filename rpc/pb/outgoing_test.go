package pb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A wireMessage is one that writes itself.
type wireMessage interface {
	WireRoom() int
	AppendWire([]byte) ([]byte, error)
}

// wantWire fails t unless m writes the bytes that protobuf writes for want, behind what is there already.
func wantWire(t interface{ Fatalf(string, ...any) }, m wireMessage, want proto.Message) {
	stock, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
	if err != nil {
		t.Fatalf("protobuf: %v", err)
	}
	got, err := m.AppendWire([]byte("before"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	got, ok := bytes.CutPrefix(got, []byte("before"))
	if !ok || !bytes.Equal(got, stock) {
		t.Fatalf("%+v:\n     got %x\nprotobuf %x", m, got, stock)
	}
	back := want.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(got, back); err != nil || !proto.Equal(back, want) {
		t.Fatalf("%x reads as %v with %v, want %v", got, back, err, want)
	}
}

func drawResult(t *rapid.T) limit.Result {
	if rapid.IntRange(0, 3).Draw(t, "error") > 0 {
		return limit.Result{Decision: drawDecision(t)}
	}
	return limit.Result{Err: rapid.SampledFrom([]error{
		limit.ErrUnknownLimit, limit.ErrUnavailable, limit.ErrOverloaded, context.DeadlineExceeded, context.Canceled,
		&limit.FieldError{Field: "key", Problem: "is empty"},
		&limit.FieldError{Field: "limits.login", Problem: "is defined twice", Line: 7},
		&limit.FieldError{Field: "k\xffy", Problem: strings.Repeat("x", 5000)},
		errors.New("the disk is on fire \xff"),
		fmt.Errorf("%w: a mailbox is full", limit.ErrOverloaded),
	}).Draw(t, "err")}
}

func TestEncodeAsProtobufDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t)
		wantWire(t, &CheckOut{Decision: d}, &CheckResponse{Decision: EncodeDecision(d)})

		results := some(t, "results", drawResult)
		batch, stream, answers := &CheckBatchResponse{}, &CheckStreamResponse{}, []*Answer(nil)
		for _, r := range results {
			id := rapid.Uint64().Draw(t, "id")
			batch.Results = append(batch.Results, encodeResult(r))
			stream.Results = append(stream.Results, &StreamResult{Id: id, Result: encodeResult(r)})
			answers = append(answers, &Answer{ID: id, Result: r})
		}
		for _, r := range some(t, "settled", drawResult) {
			id, settled := rapid.Uint64().Draw(t, "id"), drawSettled(t)
			m := &StreamSettled{Id: id, Result: &StreamSettled_Settled{Settled: EncodeSettled(settled)}}
			if r.Err != nil {
				m.Result = &StreamSettled_Error{Error: statusOf(r.Err).Proto()}
			}
			stream.Settled = append(stream.Settled, m)
			answers = append(answers, &Answer{ID: id, Result: limit.Result{Err: r.Err}, Settled: &settled})
			wantWire(t, &SettleOut{Settled: settled}, EncodeSettled(settled))
		}
		wantWire(t, &BatchOut{Results: results}, batch)
		stream.TableVersion, stream.Refuses = rapid.Uint64().Draw(t, "table"), rapid.Bool().Draw(t, "refuses")
		wantWire(t, &StreamOut{Answers: answers, Table: stream.TableVersion, Refuses: stream.Refuses}, stream)
	})
}

// TestEncodeLongMessages checks the lengths around those that take another byte.
func TestEncodeLongMessages(t *testing.T) {
	for _, n := range []int{0, 1, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 16_370, 16_380, 16_383, 16_384, 1 << 21, 1<<21 + 1} {
		d := limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: strings.Repeat("n", n), Limit: -1}}}
		wantWire(t, &CheckOut{Decision: d}, &CheckResponse{Decision: EncodeDecision(d)})
	}
}

// TestUsualRoom checks that a full batch of usual answers fits the room that it asks for, so that its buffer need not
// grow.
func TestUsualRoom(t *testing.T) {
	plain, holds := sampleResults(), sampleResults()
	for i := range holds {
		held := limit.Held{Limit: "login", Generation: 1 << 60, ID: 1 << 60}
		holds[i].Decision.Hold = &limit.Hold{Key: "user:1234567", Granted: 1000, Limits: []limit.Held{held}}
	}
	for what, results := range map[string][]limit.Result{"checks": plain, "holds": holds} {
		out := BatchOut{Results: results}
		data, err := out.AppendWire(nil)
		if err != nil || len(data) > out.WireRoom() {
			t.Errorf("%s: %d bytes and %v, but room for %d", what, len(data), err, out.WireRoom())
		}
		streamed := StreamOut{Answers: make([]*Answer, len(results))}
		for i := range results {
			streamed.Answers[i] = &Answer{Result: results[i], ID: 1 << 13}
		}
		data, err = streamed.AppendWire(nil)
		if err != nil || len(data) > streamed.WireRoom() {
			t.Errorf("%s that are streamed: %d bytes and %v, but room for %d", what, len(data), err, streamed.WireRoom())
		}
	}
}

func sampleResults() []limit.Result {
	results := make([]limit.Result, limit.MaxBatch)
	for i := range results {
		results[i].Decision = sampleDecision(i)
	}
	return results
}
