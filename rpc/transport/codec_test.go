package transport

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// failing is a message that cannot be written.
type failing struct{}

func (failing) WireRoom() int                     { return 1 }
func (failing) AppendWire([]byte) ([]byte, error) { return nil, errors.New("no form") }

func TestCodec(t *testing.T) {
	c := newCodec()
	if c.Name() != "proto" {
		t.Errorf("the codec is called %q", c.Name())
	}
	if _, err := c.Marshal(failing{}); err == nil || err.Error() != "no form" {
		t.Errorf("a message that cannot be written: %v", err)
	}
	if _, err := c.Marshal(7); err == nil {
		t.Error("a number was written as a message")
	}
	if err := c.Unmarshal(nil, new(int)); err == nil {
		t.Error("a number was read as a message")
	}
	request := pb.EncodeRequest(limit.Request{Key: strings.Repeat("k", 10_000), Cost: 7})
	data, err := c.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var parts mem.BufferSlice
	for part := range bytes.SplitSeq(data.Materialize(), []byte("kkkkkkkkkk")) {
		parts = append(parts, mem.SliceBuffer(part), mem.SliceBuffer("kkkkkkkkkk"))
	}
	var in pb.CheckIn
	if err := c.Unmarshal(parts[:len(parts)-1], &in); err != nil || in.Request.Cost != 7 || in.Request.Key != request.GetKey() {
		t.Errorf("in pieces: got %+v and %v", in.Request, err)
	}
	if err := c.Unmarshal(nil, &in); err != nil || in.Request.Key != "" || in.Request.Tokens() != 1 {
		t.Errorf("an empty message: got %+v and %v", in.Request, err)
	}
}

// weighing is a message that looks how much is held while it is read.
type weighing struct {
	l    *bound.Listener
	held int64
}

func (w *weighing) UnmarshalWire([]byte) error {
	w.held = w.l.Held(bound.Stranger)
	return nil
}

// TestLargeMessagesAreHeld reads messages of a connection: while a large one waits for that, it counts, and one whose call is
// over is not read.
func TestLargeMessagesAreHeld(t *testing.T) {
	m, l, _ := metering(t, bound.Config{Memory: MaxMessage})
	ctx, cancel := context.WithCancel(peer.NewContext(t.Context(), &peer.Peer{Addr: m.RemoteAddr()}))
	defer cancel()
	c := newCodec()
	read := func(n int) (held int64, err error) {
		w := &weighing{l: l, held: -1}
		err = c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(make([]byte, n))}, &Received{Message: w, Ctx: ctx})
		return w.held, err
	}
	for n, want := range map[int]int64{largeMessage - 1: 0, largeMessage: largeMessage, MaxMessage: MaxMessage} {
		if held, err := read(n); err != nil || held != want || l.Held(bound.Stranger) != 0 {
			t.Errorf("%v: %d bytes are held while %d are read, and %d afterwards", err, held, n, l.Held(bound.Stranger))
		}
	}
	cancel()
	if held, err := read(largeMessage); !errors.Is(err, context.Canceled) || held >= 0 {
		t.Errorf("a message of a call that is over: %v, %d bytes were held when it was read", err, held)
	}
	if held, err := read(MaxMessage + 1); !errors.Is(err, net.ErrClosed) || held >= 0 {
		t.Errorf("a message for which there is no room: %v, %d bytes were held when it was read", err, held)
	}
}
