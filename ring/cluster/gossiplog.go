package cluster

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// loggerOfMemberlist is what memberlist logs to.
type loggerOfMemberlist = *log.Logger

// A seldom keeps a log readable: what goes on repeating is said once in half a minute.
type seldom struct {
	mu   sync.Mutex
	said map[string]time.Time
}

const saidAgain = 30 * time.Second

func newSeldom() *seldom { return &seldom{said: map[string]time.Time{}} }

// may says whether what is to be said about topic may be said now, and notes that it was.
func (s *seldom) may(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, said := s.said[topic]; said && now.Sub(at) < saidAgain {
		return false
	}
	if len(s.said) >= 1000 { // somebody invents topics
		clear(s.said)
	}
	s.said[topic] = now
	return true
}

// gossipLog turns memberlist's lines into records: what matters in this project's own words, the rest for debugging.
type gossipLog struct {
	logger *slog.Logger
	seldom *seldom
}

func newGossipLog(logger *slog.Logger) loggerOfMemberlist {
	return log.New(gossipLog{logger, newSeldom()}, "", 0)
}

func (l gossipLog) Write(text []byte) (int, error) {
	line := strings.TrimSpace(string(text))
	level := slog.LevelDebug
	if rest, is := strings.CutPrefix(line, "[ERR] "); is {
		line, level = rest, slog.LevelWarn
	}
	for _, prefix := range []string{"[DEBUG] ", "[INFO] ", "[WARN] ", "[ERROR] "} {
		line = strings.TrimPrefix(line, prefix)
	}
	line = strings.TrimPrefix(line, "memberlist: ")
	switch {
	case logOtherKey(l.logger, l.seldom, line, from(line)):
	case saidElsewhere(line) || level > slog.LevelDebug && !l.seldom.may(line):
		l.logger.Debug("gossip", "message", line)
	default:
		l.logger.Log(nil, level, "gossip", "message", line) //nolint:staticcheck // there is no context to a line of text
	}
	return len(text), nil
}

// saidElsewhere says whether a delegate has logged the same thing better.
func saidElsewhere(line string) bool {
	return strings.HasPrefix(line, "ignoring alive message") || strings.HasPrefix(line, "Failed push/pull merge") ||
		strings.HasPrefix(line, "Conflicting address")
}

// from is the address that memberlist puts at the end of a line.
func from(line string) string {
	_, address, _ := strings.Cut(line, "from=")
	host, _, _ := strings.Cut(address, " ")
	return host
}

// logOtherKey logs, once in a while, that the node at an address has another cluster key, if that is what a line or an
// error of memberlist means.
func logOtherKey(logger *slog.Logger, seldom *seldom, said, where string) bool {
	switch {
	case strings.Contains(said, "could decrypt the message"),
		strings.Contains(said, "encryption is configured but remote state is not encrypted"),
		strings.Contains(said, "remote state is encrypted and encryption is not configured"):
	default:
		return false
	}
	host := where
	if i := strings.LastIndexByte(where, ':'); i > 0 {
		host = where[:i] // the port is another one each time
	}
	if seldom.may("key " + host) {
		logger.Error("a node has another cluster key than this one, or none: give all of them the same file (--cluster-key-file)",
			"address", where)
	}
	return true
}
