package gateway

import (
	"net"
	"sync"
)

// A modelBody is the body of a request to a language model on its way there: the pieces of what the client has sent, and between them what
// the gateway has changed. It lets each piece go when it is sent, and gives their room back at the end: an answer may stream for minutes after
// that. The transport may read and close it in goroutines of its own.
type modelBody struct {
	room *bodyRoom

	mu   sync.Mutex
	left net.Buffers
}

// newModelBody is the body of these pieces, and how many bytes they have.
func newModelBody(pieces [][]byte, room *bodyRoom) (b *modelBody, size int64) {
	for _, p := range pieces {
		size += int64(len(p))
	}
	return &modelBody{room: room, left: pieces}, size
}

// Read implements [io.Reader].
func (b *modelBody) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, err = b.left.Read(p); err != nil {
		b.room.release()
	}
	return n, err
}

// Close implements [io.Closer].
func (b *modelBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = nil
	b.room.release()
	return nil
}
