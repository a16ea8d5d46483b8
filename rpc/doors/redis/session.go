package redis

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// decideWithin is how long a command, or all checks that are decided together, may take.
const decideWithin = time.Second

// shared is what all connections of a Door have in common.
type shared struct {
	cfg      Config
	metrics  *doorMetrics
	commands map[string]*command // by name, in lower case
	names    []string            // of the commands, sorted
	started  time.Time
	last     atomic.Int64 // the id of the newest connection
	open     atomic.Int64 // connections
	waits    atomic.Int64 // checks that were not decided yet
}

// A command is one that clients may send.
type command struct {
	name    string
	summary string
	// arity is how many arguments it has, its name among them, as Redis counts: a negative one is the least.
	arity int
	// flags are those of Redis; keys says where its keys stand, as Redis does: the first, the last (-1 is the end), and the step.
	flags []string
	keys  [3]int
	// early commands are taken before AUTH.
	early bool
	// check, if not nil, says what is to be checked; checks that follow one another in a pipeline are decided together. A nil check is
	// left to run.
	check func(s *session, args [][]byte) (*check, error)
	// run answers the command. An error is the answer, in place of what was written.
	run func(ctx context.Context, s *session, args [][]byte) error

	commandMetrics
}

// A check is one that a command asks for.
type check struct {
	request limit.Request
	// never says that more is asked for than the bucket ever has: the request looks at it, and what was asked for is denied.
	never bool
	// names are what clients call the fields of the request.
	names names
	// answer writes the decision.
	answer func(r *reply, d *limit.Decision)
}

// names are what clients call the fields of a limit, or of a check, by the last word of jeton's name.
type names map[string]string

// A session is what the door knows of the client of a connection. One goroutine has it.
type session struct {
	*shared

	out    reply
	id     int64
	from   string // address
	name   string // that the client has given itself
	authed bool   // it has shown a token that counts, or none is needed
	token  string // that it has shown
	ended  bool   // the connection closes after the answers
	proved func() // the client has shown a token that counts; nil: there is no one to tell

	defined defined   // the limit that the client has defined last
	waiting []waiting // checks that were not decided yet
}

// How many checks of a pipeline are decided together: up to maxTogether, or fewTogether while those of all connections are more than
// maxWaiting. Each takes a kilobyte until then.
const (
	maxTogether = limit.MaxBatch
	fewTogether = 128
	maxWaiting  = 20_000
)

// waiting is a check that is decided with others.
type waiting struct {
	*check

	command *command
}

func (s *session) init() {
	s.authed, s.token = s.cfg.Token == nil, ""
	s.out.resp3 = false
	s.name = ""
}

// shows checks a token that the client shows.
func (s *session) shows(token []byte) error {
	switch {
	case s.cfg.Token == nil:
		return refuse("AUTH: this door needs no token: leave the password out of the client's configuration, or have an operator configure tokens")
	case !s.cfg.Token(string(token)):
		return refusal("WRONGPASS invalid token: the user may have any name, the password is a token of jeton's")
	}
	s.authed, s.token = true, string(token)
	if s.proved != nil {
		s.proved()
	}
	return nil
}

// recheckToken takes from the client what its token gave it, if that does not count any more.
func (s *session) recheckToken() {
	if s.token != "" && !s.cfg.Token(s.token) {
		s.authed, s.token = false, ""
	}
}

// call names the client.
func (s *session) call(name []byte) error {
	const most = 128
	if len(name) > most || strings.ContainsFunc(string(name), func(c rune) bool { return c <= ' ' || c > '~' }) {
		return refuse("Client names cannot contain spaces, newlines or special characters, and have at most %d bytes", most)
	}
	s.name = string(name)
	return nil
}
