package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// The floods, by what their client invents.
const (
	FloodKeys     = "keys"     // every check is of a new key
	FloodReceipts = "receipts" // and asks for a receipt
	FloodIDs      = "ids"      // every check is of a new key, and has a request id
	FloodLimits   = "limits"   // every check is of the same key, and defines a new limit
	FloodOneKey   = "one-key"  // every check is of the same key and limit, with a receipt
)

var floodKinds = []string{FloodKeys, FloodReceipts, FloodIDs, FloodLimits, FloodOneKey}

// maxFloodCalls is how many calls a flood may have under way on a connection.
const maxFloodCalls = 1000

// A FloodClient floods a node with batches of checks, as fast as they are answered.
type FloodClient struct {
	// Server is the gRPC address of the node. Required.
	Server string
	// Kind is what is invented: one of Floods. Required.
	Kind string
	// Connections is how many connections there are, and Calls how many calls are under way on each.
	Connections, Calls int
	// Checks is after how many the flood ends; 0 means not before ctx does.
	Checks int64
	// Log gets a line now and then with how many checks were answered so far.
	Log io.Writer
}

// Run floods until ctx ends, or there were enough checks. It takes as little of a processor as it can: every message is encoded once, then only what is
// invented is written into it, and answers are not decoded.
func (f FloodClient) Run(ctx context.Context) error {
	if !slices.Contains(floodKinds, f.Kind) {
		return oneOf("kind", f.Kind, floodKinds...)
	}
	var (
		answered atomic.Int64
		names    atomic.Uint64
		callers  sync.WaitGroup
	)
	ctx, end := context.WithCancel(ctx)
	names.Store(uint64(time.Now().UnixNano())) // no flood repeats what an earlier one has invented
	var conns []*grpc.ClientConn
	defer func() {
		end()
		callers.Wait()
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for range f.Connections {
		conn, err := grpc.NewClient("passthrough:///"+f.Server, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithNoProxy(), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxAnswer)))
		if err != nil {
			return flagError("server", "%s: %w", f.Server, err)
		}
		conns = append(conns, conn)
		for range f.Calls {
			message, err := newFloodMessage(f.Kind, &names)
			if err != nil {
				return err
			}
			callers.Go(func() { message.send(ctx, conn, &answered) })
		}
	}
	report := time.NewTicker(time.Second / 4)
	defer report.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-report.C:
			n := answered.Load()
			if n > 0 {
				fmt.Fprintf(f.Log, "flooding: %d checks\n", n)
			}
			if f.Checks > 0 && n >= f.Checks {
				return nil
			}
		}
	}
}

// A floodMessage is a CheckBatchRequest as it goes over the wire.
type floodMessage struct {
	data  []byte
	at    []int          // where the names that are invented stand
	names *atomic.Uint64 // the next one
}

// invented is the length of an invented name, and inventedName stands where one is to be.
const (
	invented     = 16
	inventedName = "#invented-name##"
)

func newFloodMessage(kind string, names *atomic.Uint64) (*floodMessage, error) {
	request := limit.Request{Key: inventedName, Cost: 1, Limits: []limit.Ref{limit.Named(onceLimit)}}
	switch kind {
	case FloodReceipts:
		request.Receipt = true
	case FloodIDs:
		request.ID = "id"
	case FloodLimits:
		request.Key = "flooded"
		request.Limits[0] = limit.Inline(limit.Limit{
			Name: inventedName, Capacity: 10, Refill: limit.Refill{Tokens: 10, Per: time.Hour},
		})
	case FloodOneKey:
		request.Key, request.Receipt = "flooded", true
		request.Limits[0] = limit.Named(openLimit)
	}
	batch := &pb.CheckBatchRequest{}
	for range limit.MaxBatch {
		batch.Checks = append(batch.Checks, pb.EncodeRequest(request))
	}
	encoded, err := encoding.GetCodecV2(rawCodec{}.Name()).Marshal(batch)
	if err != nil {
		return nil, err
	}
	data := encoded.Materialize()
	m := &floodMessage{data: data, names: names}
	for from := 0; ; {
		i := bytes.Index(data[from:], []byte(inventedName))
		if i < 0 {
			return m, nil
		}
		m.at = append(m.at, from+i)
		from += i + invented
	}
}

// invent writes new names into the message.
func (m *floodMessage) invent() {
	n := m.names.Add(uint64(len(m.at))) - uint64(len(m.at))
	var name [invented / 2]byte
	for i, at := range m.at {
		binary.BigEndian.PutUint64(name[:], n+uint64(i))
		hex.Encode(m.data[at:at+invented], name[:])
	}
}

// send sends the message again and again until ctx ends, with new names each time.
func (m *floodMessage) send(ctx context.Context, conn *grpc.ClientConn, answered *atomic.Int64) {
	for ctx.Err() == nil {
		m.invent()
		var answer rawMessage
		err := conn.Invoke(ctx, pb.Limiter_CheckBatch_FullMethodName, rawMessage(m.data), &answer)
		if err != nil {
			pause(ctx, time.Millisecond) // refused: a node that is flooded may say so
			continue
		}
		answered.Add(limit.MaxBatch)
	}
}

// A rawMessage is a message in the form in which it goes over the wire.
type rawMessage []byte

// A rawCodec sends rawMessages, and throws away what comes back.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(rawMessage))}, nil //nolint:forcetypeassert // nothing else is sent
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// Name implements encoding.CodecV2.
func (rawCodec) Name() string { return "proto" }
