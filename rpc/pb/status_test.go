package pb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
)

// wantField fails t unless err is a *limit.FieldError of that field.
func wantField(t *testing.T, err error, field string) {
	t.Helper()
	var fe *limit.FieldError
	if !errors.As(err, &fe) || fe.Field != field {
		t.Errorf("got error %v, want one of the field %q", err, field)
	}
}

// sendError is err as it arrives at the other side of a gRPC call.
func sendError(t *testing.T, err error) error {
	t.Helper()
	arrived := overTheWire(t, EncodeError(err).Proto(), new(rpcstatus.Status))
	return DecodeError(status.FromProto(arrived).Err())
}

func TestErrorsTravel(t *testing.T) {
	broken := errors.New("the disk is on fire")
	for _, test := range []struct {
		err  error
		code codes.Code
		http int
		is   error
	}{
		{limit.ErrUnknownLimit, codes.NotFound, http.StatusNotFound, limit.ErrUnknownLimit},
		{fmt.Errorf("%w %q", limit.ErrUnknownLimit, "login"), codes.NotFound, http.StatusNotFound, limit.ErrUnknownLimit},
		{limit.ErrUnknownHold, codes.NotFound, http.StatusNotFound, limit.ErrUnknownHold},
		{fmt.Errorf("%w: it was settled", limit.ErrUnknownHold), codes.NotFound, http.StatusNotFound, limit.ErrUnknownHold},
		{limit.ErrUnavailable, codes.Unavailable, http.StatusServiceUnavailable, limit.ErrUnavailable},
		{limit.ErrOverloaded, codes.ResourceExhausted, http.StatusServiceUnavailable, limit.ErrOverloaded},
		{context.DeadlineExceeded, codes.DeadlineExceeded, http.StatusGatewayTimeout, context.DeadlineExceeded},
		{context.Canceled, codes.Canceled, http.StatusServiceUnavailable, context.Canceled},
		{
			fmt.Errorf("%w: %w", limit.ErrUnavailable, context.DeadlineExceeded),
			codes.Unavailable, http.StatusServiceUnavailable, limit.ErrUnavailable,
		},
		{broken, codes.Internal, http.StatusInternalServerError, nil},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			if got := EncodeError(test.err).Code(); got != test.code {
				t.Errorf("code %v, want %v", got, test.code)
			}
			if got := Classify(test.err).HTTP; got != test.http {
				t.Errorf("HTTP status %d, want %d", got, test.http)
			}
			got := sendError(t, test.err)
			if !strings.Contains(got.Error(), test.err.Error()) {
				t.Errorf("says %q, want %q", got, test.err)
			}
			if test.is != nil && !errors.Is(got, test.is) {
				t.Errorf("%v is not %v any more", got, test.is)
			}
			if errors.Is(got, limit.ErrUnknownLimit) && errors.Is(got, limit.ErrUnknownHold) {
				t.Errorf("%v is of two kinds", got)
			}
			if again := sendError(t, got); Classify(again) != Classify(test.err) {
				t.Errorf("forwarded once more it is %v, want %v", Classify(again), Classify(test.err))
			}
		})
	}
}

func TestFieldErrorTravels(t *testing.T) {
	for _, want := range []limit.FieldError{
		{Field: "key", Problem: "is empty"},
		{Field: "limits.login.capacity", Problem: "0 is too small", Line: 7},
	} {
		sent := fmt.Errorf("check: %w", &want)
		if class := Classify(sent); class.Code != codes.InvalidArgument || class.HTTP != http.StatusBadRequest {
			t.Errorf("%v travels as %v", sent, class)
		}
		got := sendError(t, sent)
		var fe *limit.FieldError
		if !errors.As(got, &fe) || *fe != want {
			t.Errorf("got %#v, want %#v", got, want)
		}
	}
}

func TestNoErrorTravels(t *testing.T) {
	if got := EncodeError(nil).Code(); got != codes.OK {
		t.Errorf("code %v, want OK", got)
	}
	if got := DecodeError(nil); got != nil {
		t.Errorf("got %v, want nil", got)
	}
	raw := errors.New("not of gRPC")
	if got := DecodeError(raw); !errors.Is(got, raw) {
		t.Errorf("got %v, want %v", got, raw)
	}
}

// TestForeignStatus checks the errors that gRPC itself, or something between the nodes, makes.
func TestForeignStatus(t *testing.T) {
	for _, test := range []struct {
		st   *status.Status
		is   error
		says string
	}{
		{status.New(codes.Unavailable, "connection refused"), limit.ErrUnavailable, "connection refused"},
		{status.New(codes.Unavailable, ""), limit.ErrUnavailable, limit.ErrUnavailable.Error()},
		{status.New(codes.InvalidArgument, "no details"), nil, "no details"},
		{status.New(codes.NotFound, "no reason"), limit.ErrUnknownLimit, "no reason"},
		{status.New(codes.Unimplemented, "unknown method"), nil, "unknown method"},
	} {
		got := DecodeError(test.st.Err())
		if test.is != nil && !errors.Is(got, test.is) {
			t.Errorf("%v: got %v, want %v", test.st, got, test.is)
		}
		if got.Error() != test.says {
			t.Errorf("%v: says %q, want %q", test.st, got, test.says)
		}
		if status.Code(got) != test.st.Code() && test.is == nil {
			t.Errorf("%v: the code is lost: %v", test.st, got)
		}
	}
}

// TestErrorsAreBrief checks that a message which quotes what the caller sent fits in a header, whatever it holds.
func TestErrorsAreBrief(t *testing.T) {
	got := sendError(t, &limit.FieldError{Field: "algorithm\xff", Problem: strings.Repeat("x", 1<<20)})
	var fe *limit.FieldError
	if !errors.As(got, &fe) || len(fe.Problem) > 1100 || fe.Field != "algorithm\uFFFD" {
		t.Errorf("got %d bytes: %.60v…", len(got.Error()), got)
	}
}

func FuzzStatus(f *testing.F) {
	seed(f, EncodeError(limit.ErrOverloaded).Proto())
	seed(f, EncodeError(limit.ErrUnknownHold).Proto())
	seed(f, EncodeError(&limit.FieldError{Field: "key", Problem: "is empty", Line: 1}).Proto())
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(rpcstatus.Status)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		err := decodeStatus(m)
		if err == nil {
			t.Fatalf("%v is no error", m)
		}
		if class, again := Classify(err), Classify(sendError(t, err)); class != again {
			t.Fatalf("%v travels as %v, and on as %v", m, class, again)
		}
	})
}
