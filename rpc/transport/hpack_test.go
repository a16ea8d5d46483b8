package transport

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/jeton-dev/jeton/internal/bound"
)

// TestFieldsAreCounted has headers of every kind packed, sent in frames of every kind, and cut anywhere.
func TestFieldsAreCounted(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		m, l, caller := metering(t, bound.Config{Memory: 1 << 30})
		in := newFraming(true)
		var packed bytes.Buffer
		enc := hpack.NewEncoder(&packed)
		fields, spelled := 0, 0
		const calls = 30
		for id := uint32(1); id < 2*calls; id += 2 {
			packed.Reset()
			if rng.IntN(4) == 0 {
				enc.SetMaxDynamicTableSize(uint32(rng.IntN(4096))) //nolint:gosec // it is small
			}
			for range 1 + rng.IntN(60) {
				_ = enc.WriteField(hpack.HeaderField{ // to memory
					Name:  []string{":path", "te", "x", "x-" + strings.Repeat("y", rng.IntN(200))}[rng.IntN(4)],
					Value: []string{"", "/", strings.Repeat("z", rng.IntN(300)), strings.Repeat("\xff", rng.IntN(150))}[rng.IntN(4)], Sensitive: rng.IntN(4) == 0,
				})
				fields++
			}
			spelled += packed.Len()
			inFrames(in, id, packed.Bytes(), rng)
		}
		say(t, m, caller, in.Bytes(), rng)
		least, most := int64(calls*callCost+fields*fieldCost), int64(calls*callCost+fields*fieldCost+spelled)
		if held := l.Held(bound.Stranger); held < least || held > most {
			t.Fatalf("%d bytes are held for %d calls of %d fields, want %d to %d", held, calls, fields, least, most)
		}
	}
}

// inFrames writes the header of a call in one frame, or in several.
func inFrames(in *framing, stream uint32, block []byte, rng *rand.Rand) {
	p := http2.HeadersFrameParam{StreamID: stream, PadLength: uint8(rng.IntN(2) * rng.IntN(256))} //nolint:gosec // it fits
	if rng.IntN(3) == 0 {
		p.Priority = http2.PriorityParam{Weight: 3}
	}
	for first := true; first || len(block) > 0; first = false {
		n := rng.IntN(len(block) + 1)
		last := n == len(block)
		if first {
			p.BlockFragment, p.EndHeaders = block[:n], last
			_ = in.WriteHeaders(p) // to memory
		} else {
			_ = in.WriteContinuation(stream, last, block[:n]) // to memory
		}
		block = block[n:]
	}
}

// TestAHeaderCostsNoMoreThanOneThatIsTaken counts one that grpc gives up in the middle.
func TestAHeaderCostsNoMoreThanOneThatIsTaken(t *testing.T) {
	m, l, caller := metering(t, bound.Config{Memory: 1 << 30})
	in := newFraming(true)
	inFrames(in, 1, bytes.Repeat([]byte{0x82}, 100_000), rand.New(rand.NewPCG(1, 1)))
	say(t, m, caller, in.Bytes(), nil)
	if held := l.Held(bound.Stranger); held != callCost+maxHeaderCost {
		t.Errorf("%d bytes are held, want %d", held, callCost+maxHeaderCost)
	}
}
