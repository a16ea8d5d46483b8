package gateway

import (
	"testing"
	"time"
)

// A wire is a client that takes its time, and a clock that tells it.
type wire struct {
	now      time.Time
	deadline time.Time
	each     time.Duration // for each read
	bytes    int           // that come with it
}

func (w *wire) SetReadDeadline(at time.Time) error {
	w.deadline = at
	return nil
}

func (w *wire) Read([]byte) (int, error) {
	w.now = w.now.Add(w.each)
	return w.bytes, nil
}

func (*wire) Close() error { return nil }

// The gateway waits for a body as long as its pause and its rate say, and the time that nobody reads does not count.
func TestBodyPace(t *testing.T) {
	const pause = 10 * time.Second
	for name, c := range map[string]struct {
		rate    int64
		each    time.Duration
		bytes   int
		between time.Duration // that the upstream takes
		reads   int           // until the client is late; 0 for never
	}{
		"silent":                    {500, 10 * time.Second, 0, 0, 2},
		"drop by drop":              {500, time.Second, 1, 0, 11},
		"half as fast as it must":   {500, time.Second, 250, 0, 20},
		"as fast as it must":        {500, time.Second, 500, 0, 0},
		"fast, at a slow upstream":  {500, time.Millisecond, 4096, time.Hour, 0},
		"long pauses, little more":  {500, 9 * time.Second, 4500, 0, 0},
		"any rate, short pauses":    {-1, 9 * time.Second, 1, 0, 0},
		"any rate, a pause so long": {-1, 11 * time.Second, 1, 0, 1},
		"so much that it overflows": {1, time.Second, 1 << 50, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{now: time.Unix(0, 0), each: c.each, bytes: c.bytes}
			b := &requestBody{ReadCloser: w, bodyPace: bodyPace{pause, c.rate}, conn: w, now: func() time.Time { return w.now }}
			late := 0
			for i := 1; i <= 1000 && late == 0; i++ {
				start := w.now
				if _, err := b.Read(nil); err != nil {
					t.Fatal(err)
				}
				if left := w.deadline.Sub(start); left > pause {
					t.Fatalf("read %d may take %v", i, left)
				}
				if w.now.After(w.deadline) {
					late = i
				}
				w.now = w.now.Add(c.between)
			}
			if late != c.reads {
				t.Errorf("the client is late at read %d, want %d", late, c.reads)
			}
		})
	}
}
