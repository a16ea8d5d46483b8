package gossip

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring/key"
)

// A gossiper is a memberlist on gossip's sockets.
type gossiper struct {
	*memberlist.Memberlist
	sockets *sockets
	counts  *prometheus.Registry
	log     *lockedBuffer
}

// lockedBuffer is a log that is written and read at the same time.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) lines() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), "\n")
}

// gossips starts one, which ends with the test.
func gossips(tb testing.TB, name string, k *key.Key, bounds bound.Config) *gossiper {
	tb.Helper()
	g := &gossiper{counts: prometheus.NewRegistry(), log: &lockedBuffer{}}
	counts, err := bound.NewMetrics(g.counts)
	if err != nil {
		tb.Fatal(err)
	}
	bounds.Name, bounds.Metrics, bounds.Logger = "gossip", counts, slog.New(slog.NewTextHandler(g.log, nil))
	wire, err := Bind(BindConfig{Address: "127.0.0.1:0", Bounds: bounds, Key: k})
	if err != nil {
		tb.Fatal(err)
	}
	g.sockets = wire.transport
	settings := memberlist.DefaultLANConfig()
	settings.Name, settings.Transport, settings.Logger = name, wire.transport, wire.logger
	settings.AdvertiseAddr, settings.AdvertisePort, settings.BindPort = wire.IP, wire.port, wire.port
	if k != nil {
		settings.SecretKey = k.GossipKeys()[0]
	} else {
		settings.EnableCompression = false
	}
	if g.Memberlist, err = memberlist.Create(settings); err != nil {
		tb.Fatal(err)
	}
	g.sockets.deliver()
	tb.Cleanup(func() {
		if err := g.Shutdown(); err != nil {
			tb.Error(err)
		}
	})
	return g
}

// joins fails the test unless another node finds g.
func (g *gossiper) joins(tb testing.TB, other *gossiper) {
	tb.Helper()
	if n, err := other.Join([]string{g.LocalNode().Address()}); err != nil || n != 1 {
		tb.Fatalf("an honest node is not taken: %d, %v\n%s", n, err, g.log.text.String())
	}
}

// streams opens n connections that say the same, and end with the test.
func (g *gossiper) streams(tb testing.TB, n int, says []byte) []net.Conn {
	tb.Helper()
	conns := make([]net.Conn, n)
	var dialer net.Dialer
	for i := range conns {
		conn, err := dialer.DialContext(context.Background(), "tcp", g.LocalNode().Address())
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = conn.Close() })
		conns[i] = conn
		_, _ = conn.Write(says) // it may be cut off in the middle
	}
	return conns
}

// TestNothingIsHeardBeforeItIsWanted sends a stream and a packet to sockets whose memberlist is not made yet: they are kept until it is.
func TestNothingIsHeardBeforeItIsWanted(t *testing.T) {
	wire, err := Bind(BindConfig{Address: "127.0.0.1:0", Bounds: bound.Config{Name: "gossip", Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := wire.Close(); err != nil {
			t.Error(err)
		}
	})
	s, ping := wire.transport, encoded(t, gossipPing, &pinged{SeqNo: 7, Node: "a"})
	dial := func(network string) net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), network, wire.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	write := func(conn net.Conn, b []byte) {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	reads := func(n int) {
		for deadline := time.Now().Add(eventually); ; runtime.Gosched() {
			s.mu.Lock()
			reading := len(s.reading)
			s.mu.Unlock()
			if reading == n {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d streams are read, want %d", reading, n)
			}
		}
	}
	stream := dial("tcp")
	write(stream, ping[:1])
	reads(1)
	write(stream, ping[1:])
	write(dial("udp"), ping)
	reads(0) // the whole message is there
	for range 10_000 {
		select {
		case <-s.StreamCh():
			t.Fatal("a stream was heard")
		case <-s.PacketCh():
			t.Fatal("a packet was heard")
		default:
			runtime.Gosched()
		}
	}
	s.deliver()
	_ = (<-s.StreamCh()).Close() // it is heard
	<-s.PacketCh()
}

// TestGossipHoldsLittleForStrangers has a hundred streams announce as much as they may and send a part of it. What is held
// stays below the budget, whatever they send, and a node with the key is taken beside them.
func TestGossipHoldsLittleForStrangers(t *testing.T) {
	const memory = 2 << 20
	k := keyOf(t, "a secret of a good length")
	g := gossips(t, "a", k, bound.Config{Memory: memory})
	begun := append([]byte{gossipSealed}, binary.BigEndian.AppendUint32(nil, maxGossip-5)...)
	begun = append(begun, make([]byte, 256<<10)...)
	highest := int64(0)
	var looking sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	looking.Go(func() {
		for ctx.Err() == nil {
			highest = max(highest, g.sockets.listener.Held(bound.Stranger))
			runtime.Gosched()
		}
	})
	defer looking.Wait()
	defer stop()
	g.streams(t, 100, begun)
	g.joins(t, gossips(t, "b", k, bound.Config{}))
	late := 0
	soon(t, "50 streams are cut off for what they hold", func() bool {
		if now := int(refusalsOf(t, g.counts, bound.Late)); now > late { // the machine took too long over them: as many again
			g.streams(t, now-late, begun)
			late = now
		}
		return refusalsOf(t, g.counts, "memory") >= 50
	})
	stop()
	looking.Wait()
	if highest > memory+2*maxGossip {
		t.Errorf("%d bytes were held, and %d may be", highest, memory)
	} else {
		t.Logf("%d bytes were held at most, of 25 MiB and more that were sent", highest)
	}
}

// TestGossipRefusesAtOnce sends what cannot become a message of a node with the key: nothing of it is waited for.
func TestGossipRefusesAtOnce(t *testing.T) {
	k := keyOf(t, "a secret of a good length")
	for name, says := range map[string][]byte{
		"too long":   append([]byte{gossipSealed}, binary.BigEndian.AppendUint32(nil, 20<<20)...),
		"not sealed": {gossipPushPull, 0x83},
		"a label":    append([]byte{244, 5}, "other"...),
		"other key":  append([]byte{gossipSealed, 0, 0, 0, 40, 1}, make([]byte, 39)...),
		"too short":  {gossipSealed, 0, 0, 0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := gossips(t, "a", k, bound.Config{})
			for _, conn := range g.streams(t, 3, says) {
				_ = conn.SetReadDeadline(time.Now().Add(eventually))
				if answer, err := io.ReadAll(conn); len(answer) > 200 { // that the key is another one, which only a node can read
					t.Errorf("it was answered: %q, %v", answer, err)
				}
			}
			if n := refusalsOf(t, g.counts, bound.Unproved) + refusalsOf(t, g.counts, bound.Malformed); n != 3 {
				t.Errorf("%v were counted, want 3", n)
			}
			g.joins(t, gossips(t, "b", k, bound.Config{}))
		})
	}
}

// TestPacketsOfStrangersAreNotLogged floods a node with packets of another label, another key, or none. They are counted,
// and all of them together are a few lines of the log.
func TestPacketsOfStrangersAreNotLogged(t *testing.T) {
	const packets = 2000
	k := keyOf(t, "a secret of a good length")
	for name, with := range map[string]*key.Key{"with a key": k, "without": nil} {
		t.Run(name, func(t *testing.T) {
			g := gossips(t, "a", with, bound.Config{})
			conn, err := new(net.Dialer).DialContext(t.Context(), "udp", g.LocalNode().Address())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			for i := range packets {
				label := fmt.Sprintf("label%d", i)
				for _, packet := range [][]byte{
					append([]byte{244, byte(len(label))}, label...), // of memberlist
					append([]byte{1}, fmt.Sprintf("%050d", i)...),
					{13, byte(i)},
				} {
					if _, err := conn.Write(packet); err != nil {
						t.Fatal(err)
					}
				}
			}
			g.joins(t, gossips(t, "b", with, bound.Config{}))
			refused := func() float64 {
				return refusalsOf(t, g.counts, bound.Unproved) + refusalsOf(t, g.counts, bound.Malformed)
			}
			soon(t, "as many packets are refused as the kernel has room for", func() bool { return refused() >= packets/10 || g.log.lines() > 5 })
			if lines := g.log.lines(); lines > 5 {
				t.Errorf("%v packets were refused, in %d lines of the log", refused(), lines)
			} else {
				t.Logf("%v packets were refused, in %d lines of the log", refused(), lines)
			}
		})
	}
}

// encoded is a message of memberlist.
func encoded(tb testing.TB, kind byte, values ...any) []byte {
	tb.Helper()
	b := bytes.NewBuffer([]byte{kind})
	for _, v := range values {
		if err := codec.NewEncoder(b, &codec.MsgpackHandle{}).Encode(v); err != nil {
			tb.Fatal(err)
		}
	}
	return b.Bytes()
}

// wildGossip are messages that memberlist takes for whole, and that are not.
func wildGossip(tb testing.TB) [][]byte {
	tb.Helper()
	short := aliveNode{Incarnation: 1 << 30, Node: "a", Addr: []byte{127, 0, 0, 1}, Port: 1, Vsn: []uint8{1}}
	node := pushedNode{Name: "a", Addr: []byte{127, 0, 0, 1}, Port: 1, Incarnation: 1 << 30, Vsn: []uint8{1}}
	return [][]byte{
		encoded(tb, gossipAlive, &short),
		append([]byte{gossipChecksum, 0, 0, 0, 0}, encoded(tb, gossipAlive, &short)...),
		encoded(tb, gossipPushPull, &pushPull{Nodes: 1, Join: true}, &node),
		encoded(tb, gossipPushPull, &pushPull{Nodes: 1 << 20}),
		encoded(tb, gossipPushPull, &pushPull{UserStateLen: 20 << 20}),
		encoded(tb, 8, map[string]int{"UserMsgLen": 1 << 62}),
		encoded(tb, 9, map[string]any{"Algo": 0, "Buf": []byte{}}),
		encoded(tb, gossipPing, &pinged{Node: "\xff\xfe"}),
		{gossipCompound, 2, 0, 1, 0, 9, 0},
	}
}

// FuzzGossipWithoutKey sends packets and streams of anything to a node without a key, whose memberlist must survive.
func FuzzGossipWithoutKey(f *testing.F) {
	for _, message := range wildGossip(f) {
		f.Add(message)
	}
	g := gossips(f, "a", nil, bound.Config{Memory: 8 << 20})
	packets, err := new(net.Dialer).DialContext(f.Context(), "udp", g.LocalNode().Address())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = packets.Close() })
	f.Fuzz(func(t *testing.T, message []byte) {
		if len(message) < maxPacket/2 {
			_, _ = packets.Write(message) // the kernel may have no room for it
		}
		conn := g.streams(t, 1, message)[0]
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil && !strings.Contains(err.Error(), "not connected") {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(conn) // whatever it answers
		ping := g.streams(t, 1, encoded(t, gossipPing, &pinged{SeqNo: 7, Node: "a"}))[0]
		_ = ping.SetReadDeadline(time.Now().Add(eventually))
		if answer, err := io.ReadAll(ping); err != nil || len(answer) == 0 || answer[0] != gossipAck {
			t.Fatalf("a ping is answered with %q, %v", answer, err)
		}
	})
}
