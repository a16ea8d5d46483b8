package transport

import "sync"

const (
	smallBuffer = 4 << 10 // grpc pools none below 1 KiB
	maxPooled   = 1 << 20 // larger ones are rare: they are left to the garbage collector
)

// buffers are the bytes of messages between two uses. Those of grpc's pool are cleared whenever they are handed out, a
// megabyte for an answer of 40 KB; these are not: no reader sees more of them than was written.
type buffers struct {
	pool sync.Pool // of *[]byte
}

// Get implements mem.BufferPool.
func (p *buffers) Get(length int) *[]byte {
	b, ok := p.pool.Get().(*[]byte)
	if !ok || cap(*b) < length {
		fresh := make([]byte, max(length, smallBuffer))
		b = &fresh
	}
	*b = (*b)[:length]
	return b
}

// Put implements mem.BufferPool.
func (p *buffers) Put(b *[]byte) {
	if cap(*b) <= maxPooled {
		p.pool.Put(b)
	}
}
