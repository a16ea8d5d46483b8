package cluster

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newRaftLog has raft log to logger: its warnings and errors as warnings, each about a peer no oftener than [seldom] lets
// it, the rest for debugging.
func newRaftLog(logger *slog.Logger) hclog.Logger {
	return raftLog{Logger: hclog.NewNullLogger(), logger: logger, seldom: newSeldom()}
}

// raftLog is an hclog.Logger. What it does not have is the embedded one's, which does nothing.
type raftLog struct {
	hclog.Logger
	logger *slog.Logger
	seldom *seldom
}

// Log implements hclog.Logger, and so on.
func (l raftLog) Log(level hclog.Level, said string, args ...any) {
	to := slog.LevelDebug
	if level >= hclog.Warn && !usual(said) && l.seldom.may(said+" "+about(args)) {
		to = slog.LevelWarn
	}
	l.logger.Log(context.Background(), to, "raft: "+said, args...) //nolint:sloglint // the words are raft's
}

// usual says whether raft warns of what happens whenever a node joins, comes back or stops.
func usual(said string) bool {
	switch said {
	case "failed to get previous log", "appendEntries rejected, sending older logs", "failed to get log",
		"failed to decode incoming command", "rejecting pre-vote request since we have a leader",
		"rejecting vote request since we have a leader", "no known peers, aborting election":
		return true
	}
	return false
}

// about is the node that raft says something about, if any.
func about(args []any) string {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "peer", "target", "server-id", "id", "from":
			return fmt.Sprint(args[i+1])
		}
	}
	return ""
}

func (l raftLog) Trace(said string, args ...any) { l.Log(hclog.Trace, said, args...) }
func (l raftLog) Debug(said string, args ...any) { l.Log(hclog.Debug, said, args...) }
func (l raftLog) Info(said string, args ...any)  { l.Log(hclog.Info, said, args...) }
func (l raftLog) Warn(said string, args ...any)  { l.Log(hclog.Warn, said, args...) }
func (l raftLog) Error(said string, args ...any) { l.Log(hclog.Error, said, args...) }

// With implements hclog.Logger.
func (l raftLog) With(args ...any) hclog.Logger {
	l.logger = l.logger.With(args...)
	return l
}

// Named implements hclog.Logger. Raft names nothing that matters.
func (l raftLog) Named(string) hclog.Logger { return l }

// ResetNamed implements hclog.Logger.
func (l raftLog) ResetNamed(string) hclog.Logger { return l }
