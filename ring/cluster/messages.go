package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// callTime is how long a node waits for another one's answer.
const callTime = 2 * time.Second

// A message is what one node asks of another through [Peers.Call].
type message struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// An answer to a message: a body, or why there is none.
type answer struct {
	Body    json.RawMessage `json:"body,omitempty"`
	Refusal *refusal        `json:"refusal,omitempty"`
}

// A refusal carries an error to another node. Its names say which errors of this package it is.
type refusal struct {
	Names []string `json:"names,omitempty"`
	Text  string   `json:"text"`
}

// The kinds of messages.
const (
	kindPing    = "ping"    // who is there?
	kindNow     = "now"     // what does your clock say?
	kindMarks   = "marks"   // what is the highest mark of a node that you have on disk?
	kindPromise = "promise" // promise to found a cluster with me
	kindRelease = "release" // I have made my attempt void
	kindAttempt = "attempt" // what has become of your attempt?
	kindLeaving = "leaving" // I am about to stop
	kindUsed    = "used"    // which limits have decided lately?
	kindSurvey  = "survey"  // what do you know, and whom do you reach? (before a forced recovery)
	kindReset   = "reset"   // forget raft's log: I have recovered the cluster
	kindLead    = "lead"    // one for the leader, of those below

	kindFound  = "found"  // found the cluster that I have decided on
	kindJoin   = "join"   // let me in
	kindMark   = "mark"   // raise my mark
	kindLimits = "limits" // other limits
	kindDrain  = "drain"  // move every partition off a node, or take that back
	kindRemove = "remove" // take a node out of the cluster for ever
	kindMoves  = "moves"  // which moves are under way?

	kindRecover = "recover" // write down a forced recovery
)

// routes are who answers what.
func (c *Cluster) routes() map[string]handler {
	return map[string]handler{
		kindPing:    serve(c.answerPing),
		kindNow:     serve(c.answerNow),
		kindMarks:   serve(c.answerMarks),
		kindPromise: serve(c.answerPromise),
		kindRelease: serve(c.answerRelease),
		kindAttempt: serve(c.answerAttempt),
		kindLeaving: serve(c.answerLeaving),
		kindUsed:    serve(c.answerUsed),
		kindSurvey:  serve(c.answerSurvey),
		kindReset:   serve(c.answerReset),
		kindLead:    serve(c.answerLead),
	}
}

// leaderRoutes are who answers what on the leader.
func (c *Cluster) leaderRoutes() map[string]handler {
	return map[string]handler{
		kindRecover: serve(c.answerRecover),
		kindFound:   serve(c.answerFound),
		kindJoin:    serve(c.answerJoin),
		kindMark:    serve(c.answerMark),
		kindLimits:  serve(c.answerLimits),
		kindDrain:   serve(c.answerDrain),
		kindRemove:  serve(c.answerRemove),
		kindMoves:   serve(c.answerMoves),
	}
}

// nothing is the body of a message, or of an answer, that needs none.
type nothing struct{}

// wireErrors are the errors that are told apart on the other side, by their names on the wire.
func wireErrors() map[string]error {
	return map[string]error{
		"disk in use":     ErrDiskInUse,
		"foreign":         ErrForeign,
		"founded":         agreed.ErrFounded,
		"has places":      agreed.ErrHasPlaces,
		"invalid":         agreed.ErrInvalid,
		"mark not higher": agreed.ErrMarkNotHigher,
		"name taken":      agreed.ErrNameTaken,
		"no leader":       ErrNoLeader,
		"not founded":     agreed.ErrNotFounded,
		"old copy":        ErrOldCopy,
		"promised":        errPromised,
		"alive":           ErrAlive,
		"removed":         agreed.ErrRemoved,
		"stale":           agreed.ErrStale,
		"too few":         agreed.ErrTooFew,
		"unknown node":    agreed.ErrUnknownNode,
		"unreachable":     ErrUnreachable,
	}
}

// A remoteError is another node's error: its words, and, for [errors.Is], what it was there.
type remoteError struct {
	text string
	is   []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.is }

func refusalOf(err error) *refusal {
	r := &refusal{Text: err.Error()}
	for name, is := range wireErrors() {
		if errors.Is(err, is) {
			r.Names = append(r.Names, name)
		}
	}
	return r
}

// error is the refusal as an error again. Names that this version does not know say nothing.
func (r *refusal) error() error {
	e := &remoteError{text: r.Text}
	for _, name := range r.Names {
		if is, known := wireErrors()[name]; known {
			e.is = append(e.is, is)
		}
	}
	return e
}

// A handler answers one kind of message.
type handler func(ctx context.Context, body json.RawMessage) (any, error)

// serve makes a handler of a function.
func serve[Q, A any](f func(context.Context, Q) (A, error)) handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var q Q
		if err := json.Unmarshal(body, &q); err != nil {
			return nil, fmt.Errorf("%w: reading a message: %w", agreed.ErrInvalid, err)
		}
		return f(ctx, q)
	}
}

// Handle answers a message that another node has sent by [Peers.Call]. It may be called from [New] on, by any number of
// goroutines. What it refuses is told in the answer; an error means that this was no message of this package.
func (c *Cluster) Handle(ctx context.Context, text []byte) ([]byte, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%w: reading a message: %w", agreed.ErrInvalid, err)
	}
	h, known := c.handlers[m.Kind]
	if !known {
		return nil, fmt.Errorf("%w: this node knows no messages of the kind %q", agreed.ErrInvalid, m.Kind)
	}
	if c.closed.Load() {
		return nil, ErrClosed
	}
	c.metrics.calls.WithLabelValues(m.Kind).Inc()
	var a answer
	body, err := h(ctx, m.Body)
	if err == nil {
		a.Body, err = json.Marshal(body)
	}
	if err != nil {
		a = answer{Refusal: refusalOf(err)}
	}
	return json.Marshal(a)
}

// call asks the node at a gRPC address, and gives up after callTime.
func call[A, Q any](ctx context.Context, peers Peers, address, kind string, q Q) (a A, err error) {
	return callFor[A](ctx, peers, callTime, address, kind, q)
}

func callFor[A, Q any](ctx context.Context, peers Peers, limit time.Duration, address, kind string, q Q) (a A, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	text, err := json.Marshal(message{Kind: kind, Body: body})
	if err != nil {
		return a, err
	}
	reply, err := peers.Call(ctx, address, text)
	if err != nil {
		return a, fmt.Errorf("asking the node at %s: %w", address, &silent{err})
	}
	var r answer
	if err := json.Unmarshal(reply, &r); err != nil {
		return a, fmt.Errorf("%w: reading the answer of the node at %s: %w", agreed.ErrInvalid, address, err)
	}
	if r.Refusal != nil {
		return a, r.Refusal.error()
	}
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return a, fmt.Errorf("%w: reading the answer of the node at %s: %w", agreed.ErrInvalid, address, err)
	}
	return a, nil
}

// A silent is the error of a call that was not answered: what became of it is unknown.
type silent struct{ error }

func (e *silent) Unwrap() error { return e.error }

// unanswered says whether an error is that of a call that was not answered.
func unanswered(err error) bool {
	var s *silent
	return errors.As(err, &s)
}
