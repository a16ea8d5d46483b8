package bench

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestStageOf(t *testing.T) {
	c := newClassifier()
	for _, tt := range []struct {
		want  Stage
		stack []string // innermost first
	}{
		{Other, nil},
		{Other, []string{"runtime.nanotime1"}},
		{Route, []string{"runtime.mapaccess1_fast64", ours + "actor.(*shard).deliverAll", "google.golang.org/grpc.(*Server).serverWorker"}},
		{Route, []string{"github.com/cespare/xxhash/v2.Sum64", ours + "ring.Hash", ours + "actor.(*mail).check"}},
		{Decide, []string{ours + "actor/limit.(*Rule).Decide", ours + "actor/owner.(*Owner).Check", ours + "actor.(*shard).check"}},
		{Registers, []string{"cmpbody", "bytes.Compare", "github.com/cockroachdb/pebble/v2/internal/arenaskl.(*Skiplist).findSpliceForLevel"}},
		{Registers, []string{ours + "storage/register.Partition.Reserve", ours + "storage.(*Store).decideOne"}},
		{Registers, []string{"github.com/cespare/xxhash/v2.Sum64", ours + "storage/memtable.(*Table).Seek", ours + "actor.(*shard).send"}},
		{Fsync, []string{"syscall.write", "os.(*File).Write", ours + "storage/journal.(*Journal).Append", ours + "storage.(*Store).run"}},
		{Fsync, []string{"golang.org/x/sys/unix.Fdatasync", "github.com/cockroachdb/pebble/v2/vfs.(*linuxFile).SyncData", ours + "storage/journal.(*Journal).Append"}},
		{Fsync, []string{"hash/crc32.update", "github.com/cockroachdb/pebble/v2/record.(*LogWriter).flushLoop"}},
		{Transport, []string{"syscall.write", "internal/poll.(*FD).Write", "net.(*netFD).Write", "google.golang.org/grpc/internal/transport.(*bufWriter).Flush"}},
		{Transport, []string{"internal/runtime/syscall/linux.EpollWait", "runtime.netpoll", "runtime.findRunnable", "runtime.mcall"}},
		{Transport, []string{ours + "rpc.(*Server).intercept", "google.golang.org/grpc.(*Server).serverWorker"}},
		{Decode, []string{"google.golang.org/protobuf/internal/impl.(*MessageInfo).unmarshalPointer", "google.golang.org/protobuf/proto.UnmarshalOptions.unmarshal"}},
		{Encode, []string{"google.golang.org/protobuf/internal/impl.(*MessageInfo).sizePointer", "google.golang.org/protobuf/proto.Size"}},
		{Decode, []string{ours + "rpc/pb.(*reader).request", ours + "rpc/pb.(*BatchIn).UnmarshalWire", ours + "rpc.codec.Unmarshal"}},
		{Encode, []string{ours + "rpc/pb.appendDecision", ours + "rpc/pb.(*BatchOut).AppendWire", ours + "rpc.codec.Marshal"}},
		{Decode, []string{ours + "rpc/pb.(*ReservedIn).Complete", ours + "rpc/peers.(*reserving).complete"}},
		{Encode, []string{ours + "rpc/pb.(*ReservedOut).AppendWire", ours + "rpc/transport.codec.Marshal"}},
		{Memory, []string{"runtime.memclrNoHeapPointers", "runtime.mallocgc", ours + "actor/owner.(*Owner).Check"}},
		{Memory, []string{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"}},
		{Scheduler, []string{"runtime.futex", "runtime.findRunnable", "runtime.schedule", "runtime.mcall"}},
		{Other, []string{"google.golang.org/protobuf", "runtime/pprof.(*profileBuilder).build", "runtime/pprof.profileWriter"}},
	} {
		if got := c.stageOf(tt.stack); got != tt.want {
			t.Errorf("%v counts as %s, want %s", tt.stack, got, tt.want)
		}
	}
}

// A mark that stands behind one whose prefix is shorter would never be found.
func TestMarksCanBeFound(t *testing.T) {
	for _, marks := range [][]mark{everywhere(), marked()} {
		for i, m := range marks {
			if !slices.Contains(Stages(), m.stage) {
				t.Errorf("%q has the stage %q", m.prefix, m.stage)
			}
			if got, _ := find(marks, m.prefix); got != m.stage || slices.IndexFunc(marks, func(o mark) bool {
				return strings.HasPrefix(m.prefix, o.prefix)
			}) != i {
				t.Errorf("%q is hidden by a mark before it", m.prefix)
			}
		}
	}
}

// sampled is a profile with one sample, in which an inlined function stands in the middle.
func sampled(from time.Time, took time.Duration) *profile.Profile {
	outer := &profile.Function{ID: 1, Name: ours + "actor.(*shard).check"}
	inlined := &profile.Function{ID: 2, Name: ours + "actor/owner.(*Owner).Check"}
	leaf := &profile.Function{ID: 3, Name: "runtime.memmove"}
	calls := &profile.Location{ID: 1, Line: []profile.Line{{Function: inlined}, {Function: outer}}}
	copies := &profile.Location{ID: 2, Line: []profile.Line{{Function: leaf}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   []*profile.Function{outer, inlined, leaf},
		Location:   []*profile.Location{calls, copies},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{copies, calls}, Value: []int64{3, int64(took)}},
			{Location: []*profile.Location{copies}, Value: []int64{1, 500}},
		},
		TimeNanos: from.UnixNano(),
	}
}

func TestSumStages(t *testing.T) {
	sums, err := sumStages(sampled(time.Unix(1, 0), 3000))
	if err != nil || len(sums) != 2 || sums[Decide] != 3000 || sums[Other] != 500 {
		t.Errorf("%v, %v", sums, err)
	}
	if _, err := sumStages(&profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_space"}}}); err == nil {
		t.Error("a profile of something else was read")
	}
}

// Two rounds are read, and weigh as much as they have checks.
func TestReading(t *testing.T) {
	begin := time.Unix(1000, 0)
	answers := newTimeline(Load{Callers: 1, Duration: 3 * time.Second}, begin)
	for i := range answers.rows[0] {
		answers.rows[0][i] = 10 // 1,000 a second
	}
	all := reading{sums: map[Stage]int64{}}
	for _, took := range []time.Duration{time.Millisecond, 3 * time.Millisecond} {
		var text bytes.Buffer
		if err := sampled(begin.Add(time.Second), took).Write(&text); err != nil {
			t.Fatal(err)
		}
		r, err := read(text.Bytes(), time.Second, answers)
		if err != nil || r.checks != 1000 || r.sums[Decide] != int64(took) {
			t.Fatalf("%+v, %v", r, err)
		}
		all.add(r)
	}
	if cost := all.cost(); cost.Checks != 2000 || cost.PerCheck[Decide] != 2000 || cost.PerCheck[Other] != 0.5 ||
		cost.PerCheck[Memory] != 0 || cost.total() != 2000.5 {
		t.Errorf("%+v", cost)
	}
	if _, err := read([]byte("no profile"), time.Second, answers); err == nil || !strings.HasPrefix(err.Error(), "read the node's profile: ") {
		t.Errorf("what is no profile: %v", err)
	}
}
