package gossip

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring/key"
)

// The first bytes of memberlist's messages.
const (
	gossipPing         = 0
	gossipIndirectPing = 1
	gossipAck          = 2
	gossipSuspect      = 3
	gossipAlive        = 4
	gossipDead         = 5
	gossipPushPull     = 6
	gossipCompound     = 7
	gossipSealed       = 10
	gossipNack         = 11
	gossipChecksum     = 12
	gossipError        = 13
)

const (
	// maxGossip is how long a message over TCP may be: some thousands of nodes, each with its NodeMeta, fit.
	maxGossip = 4 << 20
	// maxNested is how deep messages are in one another: a checksum, several in one, and each of them.
	maxNested = 3
	// maxGossiped is how many nodes one message over TCP is about: more than there could be in maxGossip.
	maxGossiped = 8192
	// versions is how many numbers a node sends for the versions that it speaks.
	versions = 6
)

var (
	// errOtherKey refuses a message that was sealed with another cluster key.
	errOtherKey = errors.New("it was not sealed with this node's cluster key")
	// errNoGossip refuses what is not a gossip message.
	errNoGossip = errors.New("it is not a gossip message")
)

// checkSealed says whether a sealed payload was sealed with the key, any of its secrets, together with what was sent before it:
//
//	1 byte    how: 0 with padding, 1 without
//	12 bytes  a number that is used once
//	          the message, and 16 bytes that prove it
func checkSealed(k *key.Key, payload, before []byte) error {
	for _, s := range k.Seals() {
		if len(payload) < 1+s.NonceSize()+s.Overhead() || payload[0] > 1 {
			return fmt.Errorf("%w: it is not sealed", errOtherKey)
		}
		sealed := payload[1:]
		text, err := s.Open(nil, sealed[:s.NonceSize()], sealed[s.NonceSize():], before)
		if err != nil {
			continue
		}
		s.Opened()
		if len(text) == 0 {
			return fmt.Errorf("%w: it is empty", errNoGossip)
		}
		return nil
	}
	return errOtherKey
}

// sealedStream reads one sealed message: its type, the length of the payload in 4 bytes, and the payload.
func sealedStream(from *boundedReader, k *key.Key) error {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:1]); err != nil {
		return err
	}
	if head[0] != gossipSealed {
		return fmt.Errorf("%w: it is not sealed", errOtherKey)
	}
	if _, err := io.ReadFull(from, head[1:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxGossip-uint32(len(head)) {
		return fmt.Errorf("%w: it has %d bytes, more than %d", errNoGossip, n, maxGossip)
	}
	if _, err := io.CopyN(io.Discard, from, int64(n)); err != nil {
		return err
	}
	return checkSealed(k, from.all[len(head):], head[:])
}

// sealedAnswer is an error as memberlist sends it: sealed, if there is a key.
func sealedAnswer(k *key.Key) ([]byte, error) {
	text := bytes.NewBuffer([]byte{gossipError})
	err := codec.NewEncoder(text, &codec.MsgpackHandle{}).Encode(map[string]string{"Error": errOtherKey.Error()})
	if err != nil || k == nil {
		return text.Bytes(), err
	}
	first := k.Seals()[0]
	nonce := make([]byte, first.NonceSize())
	_, _ = rand.Read(nonce)                                                                                       // never fails
	head := binary.BigEndian.AppendUint32([]byte{gossipSealed}, uint32(1+len(nonce)+text.Len()+first.Overhead())) //nolint:gosec // it is short
	return first.Seal(append(append(head, 1), nonce...), nonce, text.Bytes(), head), nil
}

// The fields that are checked in a message of an unknown sender: memberlist itself trusts messages to be well-formed.
type (
	pushPull struct {
		Nodes, UserStateLen int
		Join                bool
	}
	pushedNode struct {
		Name        string
		Addr        []byte
		Port        uint16
		Meta        []byte
		Incarnation uint32
		State       int
		Vsn         []uint8
	}
	aliveNode struct {
		Incarnation uint32
		Node        string
		Addr        []byte
		Port        uint16
		Meta        []byte
		Vsn         []uint8
	}
	pinged struct {
		SeqNo uint32
		Node  string
	}
)

// plainStream reads one message that is not sealed: another node's view, or a ping.
func plainStream(from io.Reader) error {
	var kind [1]byte
	if _, err := io.ReadFull(from, kind[:]); err != nil {
		return err
	}
	read := codec.NewDecoder(from, &codec.MsgpackHandle{})
	switch kind[0] {
	case gossipPing:
		return decode(read, &pinged{})
	case gossipPushPull:
	case gossipSealed:
		return fmt.Errorf("%w: it is sealed, and this node has no key", errOtherKey)
	default:
		return fmt.Errorf("%w: its type is %d", errNoGossip, kind[0])
	}
	var view pushPull
	if err := decode(read, &view); err != nil {
		return err
	}
	if view.Nodes < 0 || view.Nodes > maxGossiped || view.UserStateLen != 0 {
		return fmt.Errorf("%w: it has %d nodes and %d bytes of user state", errNoGossip, view.Nodes, view.UserStateLen)
	}
	for range view.Nodes {
		var n pushedNode
		if err := decode(read, &n); err != nil {
			return err
		}
		if err := checkNode(n.Meta, n.Vsn); err != nil {
			return err
		}
	}
	return nil
}

// decode reads one value. An error of the connection stays what it is.
func decode(read *codec.Decoder, into any) error {
	err := read.Decode(into)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if _, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok {
		return err
	}
	return fmt.Errorf("%w: %w", errNoGossip, err)
}

// checkNode says what is missing in what a message says of a node.
func checkNode(meta, vsn []byte) error {
	if len(meta) > memberlist.MetaMaxSize || len(vsn) != versions {
		return fmt.Errorf("%w: a node has %d bytes of metadata and %d versions", errNoGossip, len(meta), len(vsn))
	}
	return nil
}

// plainMessage says what is wrong with a packet that is not sealed.
func plainMessage(packet []byte, nested int) error {
	if len(packet) == 0 || nested == 0 {
		return fmt.Errorf("%w: it is empty, or nested too deep", errNoGossip)
	}
	kind, rest := packet[0], packet[1:]
	switch kind {
	case gossipPing, gossipIndirectPing, gossipAck, gossipSuspect, gossipDead, gossipNack:
		return nil
	case gossipAlive:
		var n aliveNode
		if err := codec.NewDecoder(bytes.NewReader(rest), &codec.MsgpackHandle{}).Decode(&n); err != nil {
			return fmt.Errorf("%w: %w", errNoGossip, err)
		}
		return checkNode(n.Meta, n.Vsn)
	case gossipChecksum:
		if len(rest) < 4 {
			return fmt.Errorf("%w: its checksum is truncated", errNoGossip)
		}
		return plainMessage(rest[4:], nested-1)
	case gossipCompound:
		return eachPart(rest, func(part []byte) error { return plainMessage(part, nested-1) })
	}
	return fmt.Errorf("%w: its type is %d", errNoGossip, kind)
}

// eachPart calls f with the messages of one that is made of several: their number in a byte, their lengths in two bytes
// each, and they.
func eachPart(rest []byte, f func([]byte) error) error {
	cut := fmt.Errorf("%w: it is truncated", errNoGossip)
	if len(rest) < 1 || len(rest) < 1+2*int(rest[0]) {
		return cut
	}
	lengths, parts := rest[1:1+2*int(rest[0])], rest[1+2*int(rest[0]):]
	for ; len(lengths) > 0; lengths = lengths[2:] {
		n := int(binary.BigEndian.Uint16(lengths))
		if n > len(parts) {
			return cut
		}
		if err := f(parts[:n]); err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// A boundedReader reads from a connection and keeps what it has read, as long as that is less than maxGossip and what the bounds
// of the connection allow.
type boundedReader struct {
	conn *bound.Conn
	all  []byte
	held int
}

// Read implements io.Reader.
func (k *boundedReader) Read(b []byte) (int, error) {
	if len(k.all) >= maxGossip {
		return 0, fmt.Errorf("%w: it has more than %d bytes", errNoGossip, maxGossip)
	}
	n, err := k.conn.Read(b[:min(len(b), maxGossip-len(k.all))])
	before := cap(k.all)
	k.all = append(k.all, b[:n]...)
	more := cap(k.all) - before
	k.held += more
	if !k.conn.Hold(more) {
		return 0, net.ErrClosed
	}
	return n, err
}
