package backup

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// Pack makes a file short enough for one message.
func Pack(text []byte) ([]byte, error) {
	packed := new(bytes.Buffer)
	w := gzip.NewWriter(packed)
	_, err := w.Write(text)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// Unpack takes a file out of a message. It reads no more than a file may have.
func Unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, wrong("it was damaged on its way: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	switch {
	case err != nil:
		return nil, wrong("it was damaged on its way: %w", err)
	case len(text) > MaxFile:
		return nil, wrong("it has more than %d bytes", MaxFile)
	}
	return text, nil
}
