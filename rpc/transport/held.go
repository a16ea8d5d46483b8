package transport

import (
	"context"
	"runtime"

	"google.golang.org/grpc/mem"

	"github.com/jeton-dev/jeton/internal/bound"
)

// A Received is a message to be read, with the context of its call: it says which connection the message came over, and whether
// the caller still waits for the answer.
type Received struct {
	Message any
	bytes   int             // it had
	fields  int             // it had, if it is another project's
	Ctx     context.Context //nolint:containedctx // grpc hands a codec none
}

// A heldMessage is an answer that counts as held from when it is put into bytes until grpc needs them no more.
type heldMessage struct {
	message any
	conn    *bound.Conn
}

// Held is m as grpc is to get it, so that it counts as held of conn until it is sent; of no connection with nil.
func Held(m any, conn *bound.Conn) any {
	if conn == nil {
		return m
	}
	return heldMessage{m, conn}
}

// heldBytes are the bytes of data in a buffer that counts until it is free.
func heldBytes(data mem.BufferSlice, pool *buffers, conn *bound.Conn) mem.Buffer {
	whole := pool.Get(data.Len())
	data.CopyTo(*whole)
	data.Free()
	p := &counting{buffers: pool, answer: heldAnswer{conn, len(*whole)}}
	p.answer.conn.Hold(p.answer.bytes)
	p.dropped = runtime.AddCleanup(p, heldAnswer.release, p.answer)
	return mem.NewBuffer(whole, p)
}

// counting is a pool that gets one buffer back. grpc drops some of those of calls that were given up: what is garbage is held
// no more either.
type counting struct {
	*buffers
	answer  heldAnswer
	dropped runtime.Cleanup
}

// heldAnswer is what counts.
type heldAnswer struct {
	conn  *bound.Conn
	bytes int
}

func (a heldAnswer) release() { a.conn.Release(a.bytes) }

// Put implements mem.BufferPool.
func (p *counting) Put(b *[]byte) {
	p.dropped.Stop()
	p.answer.release()
	p.buffers.Put(b)
}
