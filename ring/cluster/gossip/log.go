package gossip

import (
	"context"
	"log"
	"log/slog"
	"strings"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
)

// loggerOfMemberlist is what memberlist logs to.
type loggerOfMemberlist = *log.Logger

// gossipLog turns memberlist's lines into log records: what matters in this project's own words, the rest at the debug level. Lines
// that repeat, about whatever node, become one line in a while.
type gossipLog struct {
	log      *slog.Logger
	lines    *bound.Lines
	debounce *lograte.Debounce
}

func newGossipLog(logger *slog.Logger) *gossipLog {
	return &gossipLog{logger, bound.NewLines(), lograte.NewDebounce()}
}

// logger is what memberlist logs to.
func (l *gossipLog) logger() loggerOfMemberlist { return log.New(l, "", 0) }

// otherKey logs that the node at an address has another cluster key.
func (l *gossipLog) otherKey(address string) {
	if before, may := l.lines.May("key"); may {
		l.log.Error(saysOtherKey, "address", address, "more_since_last", before)
	}
}

// Write implements io.Writer, for lines of memberlist.
func (l *gossipLog) Write(text []byte) (int, error) {
	line := strings.TrimSpace(string(text))
	level := slog.LevelDebug
	if rest, is := strings.CutPrefix(line, "[ERR] "); is {
		line, level = rest, slog.LevelWarn
	}
	for _, prefix := range []string{"[DEBUG] ", "[INFO] ", "[WARN] ", "[ERROR] "} {
		line = strings.TrimPrefix(line, prefix)
	}
	line = strings.TrimPrefix(line, "memberlist: ")
	args := []any{"message", line}
	switch {
	case strings.HasPrefix(line, "failed to join"): // the join returns the error too
		level = slog.LevelDebug
	case isOtherKey(line):
		l.otherKey(from(line))
		return len(text), nil
	case strings.Contains(line, "over TCP but UDP probes failed"):
		if l.debounce.Lasts("UDP") {
			l.log.Warn("a node is reachable at its gossip address over TCP but not over UDP: allow UDP too (--listen-gossip)",
				"gossip", line)
		}
		return len(text), nil
	case isLoggedElsewhere(line) || isUnanswered(line):
		level = slog.LevelDebug
	case level > slog.LevelDebug:
		before, may := l.lines.May(bound.Reason(line))
		if !may {
			level = slog.LevelDebug
		}
		args = append(args, "more_since_last", before)
	}
	l.log.Log(context.Background(), level, "gossip", args...)
	return len(text), nil
}

// isLoggedElsewhere says whether a delegate has logged the same thing better.
func isLoggedElsewhere(line string) bool {
	return strings.HasPrefix(line, "ignoring alive message") || strings.HasPrefix(line, "Failed push/pull merge") ||
		strings.HasPrefix(line, "Conflicting address")
}

// isUnanswered says whether memberlist complains of a node that does not answer, or of its own end.
func isUnanswered(line string) bool {
	for _, prefix := range []string{
		"Failed to send", "Failed fallback TCP ping", "Failed to push local state", "Failed to read remote state",
		"Failed to forward ack", "Failed to receive", "failed to receive", "Push/Pull with", "Error reading UDP packet",
		"Error accepting TCP connection",
	} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// from is the address that memberlist puts at the end of a line.
func from(line string) string {
	_, address, _ := strings.Cut(line, "from=")
	host, _, _ := strings.Cut(address, " ")
	return host
}

const saysOtherKey = "a node has another cluster key than this one, or none: give all nodes the same key (--cluster-key-file)"

// isOtherKey says whether a line or an error of memberlist means that a node has another cluster key.
func isOtherKey(said string) bool {
	return strings.Contains(said, "could decrypt the message") ||
		strings.Contains(said, "encryption is configured but remote state is not encrypted") ||
		strings.Contains(said, "remote state is encrypted and encryption is not configured")
}

// logOtherKey logs, once in a while, that the node at an address has another cluster key, if that is what an error of
// memberlist means.
func logOtherKey(logger *slog.Logger, throttle *lograte.Throttle, said, where string) bool {
	if !isOtherKey(said) {
		return false
	}
	host := where
	if i := strings.LastIndexByte(where, ':'); i > 0 {
		host = where[:i] // the port is another one each time
	}
	if throttle.Allow("key " + host) {
		logger.Error(saysOtherKey, "address", where)
	}
	return true
}

// otherKey logs, once in a while, that a node has another key than this one, if that is what memberlist says.
func (g *Gossip) otherKey(said, where string) bool {
	return logOtherKey(g.logger, g.throttle, said, where)
}
