package consensus

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
)

// newRaftLog has raft log to logger: what an operator should know in this project's own words, other warnings and errors as
// warnings, each about a peer no more often than its throttle allows, the rest for debugging.
func newRaftLog(logger *slog.Logger) hclog.Logger {
	return raftLog{Logger: hclog.NewNullLogger(), logger: logger, throttle: lograte.NewThrottle(), debounce: lograte.NewDebounce()}
}

// raftLog is an hclog.Logger. What it does not have is the embedded one's, which does nothing.
type raftLog struct {
	hclog.Logger
	logger   *slog.Logger
	throttle *lograte.Throttle
	debounce *lograte.Debounce
}

// Log implements hclog.Logger, and so on.
func (l raftLog) Log(level hclog.Level, said string, args ...any) {
	to := slog.LevelDebug
	switch about := about(args); {
	case said == "entering leader state":
		l.logger.Info("this node is now the leader of the cluster")
	case said == "failed to contact quorum of nodes, stepping down":
		l.logger.Warn("this node is no longer the leader of the cluster: it cannot reach a majority of the voters")
	case isUnreachable(said):
		if l.debounce.Lasts("reach " + about) {
			l.logger.Warn("a node is still unreachable at its raft address: it is down, or something blocks --listen-raft", "node", about)
		}
	case isLeaderless(said):
		if l.debounce.Lasts("lead") {
			l.logger.Warn("the cluster still has no leader: a majority of its voters must be up and reach one another; " +
				"checks continue where a majority of the replicas is up, and changes to the cluster wait")
		}
	case level >= hclog.Warn && !isRoutine(said) && l.throttle.Allow(said+" "+about):
		to = slog.LevelWarn
	}
	l.logger.Log(context.Background(), to, "raft: "+said, args...) //nolint:sloglint // the words are raft's
}

// isUnreachable says whether raft complains of a node that does not answer. One that restarts is no news: what has lost its
// connection to it says so.
func isUnreachable(said string) bool {
	switch said {
	case "failed to heartbeat to", "failed to appendEntries to", "failed to make requestVote RPC",
		"failed to pipeline appendEntries", "failed to start pipeline replication to", "failed to send snapshot to":
		return true
	}
	return false
}

// isLeaderless says whether raft looks for a leader, which it does whenever one has gone.
func isLeaderless(said string) bool {
	return said == "heartbeat timeout reached, starting election" || said == "Election timeout reached, restarting election"
}

// isRoutine says whether raft warns of what happens whenever a node joins, comes back or stops.
func isRoutine(said string) bool {
	switch said {
	case "failed to get previous log", "appendEntries rejected, sending older logs", "failed to get log",
		"failed to decode incoming command", "rejecting pre-vote request since we have a leader",
		"rejecting vote request since we have a leader", "no known peers, aborting election",
		"peer has newer term, stopping replication", "new leader elected, stepping down",
		"rejecting pre-vote request since our last index is greater", "rejecting pre-vote request since our last term is greater",
		"rejecting vote request since our last index is greater", "rejecting vote request since our last term is greater",
		"duplicate requestVote from", "previous log term mis-match", "clearing log suffix", "failed to flush response", "failed to contact",
		"unable to get address for server, using fallback address":
		return true
	}
	return false
}

// about is the node that raft says something about, if any.
func about(args []any) string {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "peer", "target", "server-id", "id", "from":
			node := fmt.Sprint(args[i+1]) // an address, or "{Voter ID ADDRESS}"
			return strings.TrimSuffix(node[strings.LastIndexByte(node, ' ')+1:], "}")
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
