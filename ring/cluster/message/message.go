// Package message is what the nodes of a cluster ask one another: the kinds of messages, how a call is made and answered,
// the errors that arrive as what they were, and the messages that only the leader answers. A message is JSON. Who answers
// what is not known here: see [Serve] and [Leader.Handle]. Start with [Call] and [AskLeader].
package message

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/level"
)

// CallTime is how long a node waits for another one's answer.
const CallTime = 2 * time.Second

// A Message is what one node asks of another through [Peers.Call].
type Message struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// An answer to a message: a body, or why there is none.
type answer struct {
	Body    json.RawMessage `json:"body,omitempty"`
	Refusal *Refusal        `json:"refusal,omitempty"`
}

// The kinds of messages.
const (
	KindPing    = "ping"    // who is there?
	KindNow     = "now"     // what does your clock say?
	KindMarks   = "marks"   // what is the highest mark of a node that you have on disk?
	KindPromise = "promise" // promise to found a cluster with me
	KindRelease = "release" // I have made my attempt void
	KindAttempt = "attempt" // what has become of your attempt?
	KindLeaving = "leaving" // I am about to stop
	KindUsed    = "used"    // which limits have decided lately?
	KindTell    = "tell"    // what only the program around this package reads
	KindProbe   = "probe"   // which ports of the other members do you reach?
	KindSurvey  = "survey"  // what do you know, and whom do you reach? (before a forced recovery)
	KindReset   = "reset"   // forget raft's log: I have recovered the cluster
	KindLead    = "lead"    // one for the leader, of those below

	KindFound  = "found"  // found the cluster that I have decided on
	KindJoin   = "join"   // let me in
	KindMark   = "mark"   // raise my mark
	KindLimits = "limits" // other limits
	KindDrain  = "drain"  // move every partition off a node, or take that back
	KindRemove = "remove" // take a node out of the cluster for ever
	KindMoves  = "moves"  // which moves are under way?
	KindNote   = "note"   // write into the audit log
	KindSet    = "set"    // set an override, or take it away
	KindRaise  = "raise"  // raise the level of the cluster

	KindRecover = "recover" // write down a forced recovery
)

// Nothing is the body of a message, or of an answer, that needs none.
type Nothing struct{}

// A Handler answers one kind of message.
type Handler func(ctx context.Context, body json.RawMessage) (any, error)

// Serve makes a handler of a function.
func Serve[Q, A any](f func(context.Context, Q) (A, error)) Handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var q Q
		if err := json.Unmarshal(body, &q); err != nil {
			return nil, fmt.Errorf("%w: reading a message: %w", agreed.ErrInvalid, err)
		}
		return f(ctx, q)
	}
}

// Read reads what a node has sent by [Peers.Call].
func Read(text []byte) (m Message, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return Message{}, fmt.Errorf("%w: reading a message: %w", agreed.ErrInvalid, err)
	}
	return m, nil
}

// unknownKind is what releases say of messages that only later ones know.
const unknownKind = "this node knows no messages of kind"

// UnknownKind refuses a message that this node has no handler for.
func UnknownKind(kind string) error {
	return fmt.Errorf("%w: %s %q", agreed.ErrInvalid, unknownKind, kind)
}

// IsUnknownKind says whether a node has refused a message because it has no handler for it: it is of an older release.
func IsUnknownKind(err error) bool { return err != nil && strings.Contains(err.Error(), unknownKind) }

// Answer is what a handler answers to the body of a message. A refusal is an answer too.
func Answer(ctx context.Context, h Handler, body json.RawMessage) ([]byte, error) {
	var a answer
	result, err := h(ctx, body)
	if err == nil {
		a.Body, err = json.Marshal(result)
	}
	if err != nil {
		a = answer{Refusal: refusalOf(err)}
	}
	return json.Marshal(a)
}

// Peers sends messages.
type Peers interface {
	// Call has message answered by the node at a gRPC address. An error means that no node has answered.
	Call(ctx context.Context, address string, message []byte) ([]byte, error)
}

// Call asks the node at a gRPC address, and gives up after callTime.
func Call[A, Q any](ctx context.Context, peers Peers, address, kind string, q Q) (a A, err error) {
	return CallWithin[A](ctx, peers, CallTime, address, kind, q)
}

// CallWithin is Call with another limit than CallTime.
func CallWithin[A, Q any](ctx context.Context, peers Peers, limit time.Duration, address, kind string, q Q) (a A, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	text, err := json.Marshal(Message{Kind: kind, Body: body})
	if err != nil {
		return a, err
	}
	reply, err := peers.Call(ctx, address, text)
	if err != nil {
		return a, fmt.Errorf("asking the node at %s: %w", address, &unansweredError{err})
	}
	var r answer
	if err := json.Unmarshal(reply, &r); err != nil {
		return a, fmt.Errorf("%w: reading the answer of the node at %s: %w", agreed.ErrInvalid, address, err)
	}
	if r.Refusal != nil {
		return a, r.Refusal.Err()
	}
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return a, fmt.Errorf("%w: reading the answer of the node at %s: %w", agreed.ErrInvalid, address, err)
	}
	return a, nil
}

// A unansweredError is the error of a call that was not answered: what became of it is unknown.
type unansweredError struct{ error }

func (e *unansweredError) Unwrap() error { return e.error }

// Unanswered says whether an error is that of a call that was not answered.
func Unanswered(err error) bool {
	var s *unansweredError
	return errors.As(err, &s)
}

// A Pong says who answers.
type Pong struct {
	ID      ring.NodeID   `json:"id"`
	Process agreed.Unique `json:"process"`
	// Refuses is why the node decides nothing and takes no reservations; empty if it does.
	Refuses string `json:"refuses,omitempty"`
	// Hears are the other members that answer it and take reservations; nil from a node that does not tell.
	Hears []ring.NodeID `json:"hears"`
	// Keys are the secrets of the cluster key that the node accepts, the one first that it shows; nil from a node that does not tell.
	Keys []KeyUse `json:"keys,omitempty"`
	// Levels are those that the node knows, and Release is its release; nil and empty from a node that does not tell, which knows the first.
	Levels  *level.Range `json:"levels,omitempty"`
	Release string       `json:"release,omitempty"`
}

// Knows are the levels that the node knows.
func (p *Pong) Knows() level.Range { return level.Told(p.Levels) }

// A KeyUse is a secret of the cluster key, as a node has it in force.
type KeyUse struct {
	Name string `json:"name"` // see key.Use
	// Connections are how many are open whose other end has shown it.
	Connections int `json:"connections"`
	// UsedSeconds is how long ago others proved last that they have it; missing if none did since it is in force there.
	UsedSeconds *float64 `json:"used_seconds,omitempty"`
}

// Pause waits for so long, or until wake is closed, and says whether it was; nil is never closed. The error is that ctx has
// ended.
func Pause(ctx context.Context, wait time.Duration, wake <-chan struct{}) (woken bool, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-wake:
		return true, nil
	case <-timer.C:
		return false, nil
	}
}

// ForEach calls f at once for every node, and waits.
func ForEach(nodes []agreed.Node, f func(agreed.Node)) {
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() { f(n) })
	}
	all.Wait()
}
