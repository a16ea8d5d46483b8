package transport

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// incoming is a message that reads itself, such as a *pb.BatchIn.
type incoming interface {
	UnmarshalWire(data []byte) error
}

// outgoing is a message that writes itself, such as a *pb.BatchOut.
type outgoing interface {
	WireRoom() int // about how many bytes it takes
	AppendWire(b []byte) ([]byte, error)
}

// A codec is grpc's protobuf, but for the messages that do it themselves.
type codec struct {
	encoding.CodecV2
	buffers *buffers
	large   *sync.Mutex // held while a large message is read
}

// NewCodec makes the codec of a server or a client, which is grpc's for every message that does not read or write itself.
func NewCodec() encoding.CodecV2 { return newCodec() }

func newCodec() codec {
	return codec{CodecV2: encoding.GetCodecV2(proto.Name), buffers: new(buffers), large: new(sync.Mutex)}
}

// largeMessage is from how many bytes on messages are read one at a time: it takes a good part of a millisecond, and as
// many as callers like to send would keep every processor from the small ones. While they wait they count as held.
const largeMessage = 16 << 10

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	ctx, fields := context.Background(), new(int)
	if s, ok := v.(*Received); ok {
		s.bytes, s.fields, v, ctx, fields = data.Len(), 0, s.Message, s.Ctx, &s.fields
	}
	m, ok := v.(incoming)
	if !ok {
		if m, ok = asForeign(v, fields); !ok {
			return c.CodecV2.Unmarshal(data, v)
		}
	}
	if data.Len() < largeMessage {
		return c.unmarshal(data, m)
	}
	if conn := ConnOf(ctx); conn != nil {
		if !conn.Hold(data.Len()) {
			return net.ErrClosed
		}
		defer conn.Release(data.Len())
	}
	c.large.Lock()
	defer c.large.Unlock()
	if err := ctx.Err(); err != nil { // of those that callers have given up, any number may wait
		return err
	}
	return c.unmarshal(data, m)
}

func (c codec) unmarshal(data mem.BufferSlice, m incoming) error {
	whole := data.MaterializeToBuffer(c.buffers)
	defer whole.Free()
	return m.UnmarshalWire(whole.ReadOnlyData())
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(heldMessage); ok {
		return c.marshalHeld(m)
	}
	m, ok := v.(outgoing)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	buffer := c.buffers.Get(m.WireRoom())
	b, err := m.AppendWire((*buffer)[:0])
	if err != nil {
		c.buffers.Put(buffer)
		return nil, err
	}
	*buffer = b
	return mem.BufferSlice{mem.NewBuffer(buffer, c.buffers)}, nil
}

// minHeld is the size from which an answer counts as held until it is sent. Smaller ones are part of the cost of their call.
const minHeld = 4 << 10

// marshalHeld is Marshal for an answer that counts.
func (c codec) marshalHeld(m heldMessage) (mem.BufferSlice, error) {
	data, err := c.Marshal(m.message)
	if err != nil || data.Len() < minHeld {
		return data, err
	}
	return mem.BufferSlice{heldBytes(data, c.buffers, m.conn)}, nil
}
