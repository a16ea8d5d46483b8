package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// A Writer writes a history to a file while it happens, a line for each entry. Its methods may be called by many at once.
// What was written is complete in the file after Flush. After an error every method returns that error.
type Writer struct {
	mu  sync.Mutex
	out *bufio.Writer
	err error
}

// NewWriter is a Writer that writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: bufio.NewWriterSize(out, 1<<16)} }

// WriteLimit writes a limit, or a change of one. It must come before the calls that it is for.
func (w *Writer) WriteLimit(l Limit) error {
	if err := l.Validate(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return w.write(line{
		Kind: "limit", Limit: l.Name, Algorithm: l.Algorithm, Capacity: l.Capacity, Tokens: l.Tokens, PerNS: l.PerNS, Length: l.Length,
		Holds: l.Holds, Debt: l.Debt, Leased: l.Leased, At: l.At, By: l.By,
	})
}

// WriteCall writes a call. Calls may be written in any order.
func (w *Writer) WriteCall(c Call) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return w.write(lineOf(&c))
}

// WriteFault writes a fault, or a mark that all are over.
func (w *Writer) WriteFault(f Fault) error {
	if err := f.Validate(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return w.write(line{Kind: "fault", Start: &f.Start, End: &f.End, What: f.What, Held: f.Held})
}

// Write writes everything in h.
func (w *Writer) Write(h *History) error {
	for _, l := range h.Limits {
		if err := w.WriteLimit(l); err != nil {
			return err
		}
	}
	for i := range h.Calls {
		if err := w.WriteCall(h.Calls[i]); err != nil {
			return err
		}
	}
	for _, f := range h.Faults {
		if err := w.WriteFault(f); err != nil {
			return err
		}
	}
	return nil
}

// Flush hands everything written so far to the file.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

func (w *Writer) write(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_, w.err = w.out.Write(append(text, '\n'))
	}
	return w.err
}
