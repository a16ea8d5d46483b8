package bench

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// A Stage is a part of what a node does for a check.
type Stage string

// The stages, in the order in which a check meets them; those from Memory on belong to no place of it.
const (
	Transport Stage = "transport" // gRPC, HTTP/2 and sockets
	Decode    Stage = "decode"    // bytes to requests
	Route     Stage = "route"     // the key's hash, shard, mail and actor, and what they count
	Decide    Stage = "decide"    // limits and owners: the protocol's arithmetic
	Registers Stage = "registers" // looking registers up, writing them, and settling them later
	Fsync     Stage = "fsync"     // writing the journal, and waiting for the disk
	Encode    Stage = "encode"    // decisions to bytes
	Memory    Stage = "memory"    // allocation and garbage collection, whatever causes it
	Scheduler Stage = "scheduler" // changing from one goroutine to another
	Other     Stage = "other"     // everything else
)

// Stages are all of them, in their order.
func Stages() []Stage {
	return []Stage{Transport, Decode, Route, Decide, Registers, Fsync, Encode, Memory, Scheduler, Other}
}

// A mark says to which stage a function belongs, by how its name begins.
type mark struct {
	prefix string
	stage  Stage
}

// find is the first of the marks that a function has.
func find(marks []mark, function string) (Stage, bool) {
	i := slices.IndexFunc(marks, func(m mark) bool { return strings.HasPrefix(function, m.prefix) })
	if i < 0 {
		return "", false
	}
	return marks[i].stage, true
}

// ours is how the names of this module's functions begin.
const ours = "github.com/jeton-dev/jeton/"

// everywhere are the marks that count wherever they stand in a stack.
func everywhere() []mark {
	return []mark{
		{"runtime.mallocgc", Memory},
		{"runtime.newobject", Memory},
		{"runtime.makeslice", Memory},
		{"runtime.growslice", Memory},
		{"runtime.gcstopm", Scheduler}, // not the collector: a thread that pauses for it
		{"runtime.gc", Memory},         // gcBgMarkWorker, gcAssistAlloc, gcDrain …
		{"gcWriteBarrier", Memory},
		{"runtime.wbBufFlush", Memory},
		{"runtime.bulkBarrierPreWrite", Memory},
		{"runtime.bgsweep", Memory},
		{"runtime.bgscavenge", Memory},
		{"runtime.(*sweepLocked)", Memory},
		{"runtime.(*mheap)", Memory},
		{"runtime.copystack", Memory},
	}
}

// marked are the marks of which the innermost in a stack counts. Of two that a function has, the first counts. What has
// none, such as a map of the runtime's, belongs to its caller.
func marked() []mark {
	return []mark{
		{"runtime/pprof.", Other}, // the profile itself
		{"net/http", Other},
		{"runtime.netpoll", Transport},
		{"net.", Transport},
		{"google.golang.org/grpc", Transport},
		{"golang.org/x/net/", Transport},
		{"google.golang.org/protobuf/proto.Unmarshal", Decode},
		{"google.golang.org/protobuf/proto.", Encode}, // Marshal, Size
		{ours + "rpc/pb.(*CheckIn)", Decode},
		{ours + "rpc/pb.(*BatchIn)", Decode},
		{ours + "rpc/pb.(*StreamIn)", Decode},
		{ours + "rpc/pb.(*ReserveIn)", Decode},
		{ours + "rpc/pb.(*ReservedIn)", Decode},
		{ours + "rpc/pb.(*reader)", Decode},
		{ours + "rpc/pb.Decode", Decode},
		{ours + "rpc/pb.(*CheckOut)", Encode},
		{ours + "rpc/pb.(*BatchOut)", Encode},
		{ours + "rpc/pb.(*StreamOut)", Encode},
		{ours + "rpc/pb.(*ReserveOut)", Encode},
		{ours + "rpc/pb.(*ReservedOut)", Encode},
		{ours + "rpc/pb.append", Encode},
		{ours + "rpc/pb.Encode", Encode},
		{ours + "rpc/pb.isAsAsked", Encode},
		{ours + "rpc/pb.answerAsAsked", Decode},
		{ours + "rpc/pb.newReader", Decode},
		{ours + "rpc", Transport},
		{ours + "ring", Route},
		{ours + "actor/limit.", Decide},
		{ours + "actor/owner.", Decide},
		{ours + "actor", Route},
		{ours + "storage/journal.(*Journal)", Fsync},
		{ours + "storage", Registers},
		{"golang.org/x/sys/unix.Fdatasync", Fsync},
		{"golang.org/x/sys/unix.SyncFileRange", Fsync},
		{"syscall.Fsync", Fsync},
		{"os.(*File).Sync", Fsync},
		{"github.com/cockroachdb/pebble/v2/record.(*LogWriter)", Fsync},
		{"github.com/cockroachdb/pebble/v2/record.NewLogWriter", Fsync},
		{"github.com/cockroachdb/pebble/", Registers},
		{"runtime.schedule", Scheduler},
		{"runtime.findRunnable", Scheduler},
		{"runtime.mcall", Scheduler},
		{"runtime.mstart", Scheduler},
		{"runtime.sysmon", Scheduler},
		{"runtime.goexit", Scheduler},
		{"runtime.gopreempt", Scheduler},
		{"runtime.goschedImpl", Scheduler},
	}
}

// A classifier knows the stages of functions.
type classifier struct{ everywhere, marked []mark }

func newClassifier() classifier { return classifier{everywhere: everywhere(), marked: marked()} }

// stageOf is the stage of a stack, whose innermost function comes first.
func (c classifier) stageOf(stack []string) Stage {
	for _, function := range stack {
		if s, ok := find(c.everywhere, function); ok {
			return s
		}
	}
	for _, function := range stack {
		if s, ok := find(c.marked, function); ok {
			return s
		}
	}
	return Other
}

// sumStages adds up the processor time of a profile by stages, in nanoseconds.
func sumStages(p *profile.Profile) (map[Stage]int64, error) {
	value, err := p.SampleIndexByName("cpu")
	if err != nil {
		return nil, err
	}
	c, sums := newClassifier(), map[Stage]int64{}
	var stack []string
	for _, sample := range p.Sample {
		stack = stack[:0]
		for _, location := range sample.Location {
			for _, line := range location.Line { // inlined ones first
				if line.Function != nil {
					stack = append(stack, line.Function.Name)
				}
			}
		}
		sums[c.stageOf(stack)] += sample.Value[value]
	}
	return sums, nil
}
