package node

import (
	"strings"
	"testing"
)

// journal counts what is written and synced in the journal.
func journal(o operation) bool {
	return strings.Contains(o.path, "/journal/") && (o.kind == "write" || o.kind == "sync")
}

// raftLog counts what raft writes and syncs.
func raftLog(o operation) bool {
	return strings.Contains(o.path, "/cluster/raft/") && (o.kind == "write" || o.kind == "sync")
}

// A disk that says that it has synced and has not breaks the promise, and the checkers see it: what a power cut of all nodes
// makes forgotten is admitted twice. A disk that is honest is an assumption; this is what it is for, and what would become
// of an fsync that was left out.
func TestLyingDisksAreNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := r.founders()
	none := 0
	for _, s := range nodes {
		s.percent = &none
		s.lies = func(o operation) bool {
			return strings.Contains(o.path, "/journal/") && strings.HasSuffix(o.path, ".log")
		}
	}
	started(nodes...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	l := r.load(20)
	l.admitted(60)
	powerCut(nodes...)
	started(nodes...)
	l.end()
	l.drain()
	err := l.err()
	if err == nil || !strings.Contains(err.Error(), "disjoint: ") {
		t.Fatalf("the checker has not noticed: %s, %v", l.summary(), err)
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	t.Logf("noticed, as it must be: %s", text)
}
