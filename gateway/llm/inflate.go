package llm

import (
	"bytes"
	"compress/gzip"
)

// maxInflated is the most bytes that are unpacked from a compressed answer: what has more is a decompression bomb.
const maxInflated = 64 << 20

// compressed observes an answer that is compressed with gzip. The client gets it as it is; a copy of it is kept, and read at the end.
type compressed struct {
	inner observer
	max   int
	kept  []byte
	long  bool
}

func (c *compressed) see(p []byte) {
	if c.long || len(c.kept)+len(p) > c.max {
		c.long, c.kept = true, nil
		return
	}
	c.kept = append(c.kept, p...)
}

// result unpacks the copy piece by piece. Where it breaks off, what stands before counts.
func (c *compressed) result(a *Answer) {
	if c.long {
		a.Missing = "it is compressed, and longer than what is kept to read it"
		return
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(c.kept))
	if err != nil {
		a.Missing = "it is not compressed with gzip, though it says so"
		return
	}
	piece := make([]byte, pieces)
	for size := 0; err == nil; {
		var n int
		n, err = unpacked.Read(piece)
		if size += n; size > maxInflated {
			a.Missing = "it is compressed, and unpacks to more than is read"
			return
		}
		c.inner.see(piece[:n])
	}
	c.inner.result(a)
}
