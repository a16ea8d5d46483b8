package rpc

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// raw sends bytes as they are.
type raw struct{ encoding.Codec }

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                       { return "proto" }

// A caller in a language whose strings are bytes is told which of them is not UTF-8.
func TestKeyThatIsNotUTF8OverRawGRPC(t *testing.T) {
	_, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
		return limit.Decision{}, r.Validate()
	}}})
	message, answer := []byte{0x0a, 2, 'k', 0xff}, []byte(nil)
	err := pb.DecodeError(conn.Invoke(t.Context(), pb.Limiter_Check_FullMethodName, &message, &answer, grpc.ForceCodec(raw{})))
	if fe, ok := errors.AsType[*limit.FieldError](err); !ok || fe.Field != "key" {
		t.Errorf("%v, want a *FieldError of the key", err)
	}
}
