package joining

import (
	"context"
	"fmt"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// A PromiseRequest asks a node to promise its founding.
type PromiseRequest struct {
	Promise
	Expect int `json:"expect"` // how many found
}

// answerPromise promises this node's founding, durably, and tells the founder who this node is.
func (j *Joiner) answerPromise(_ context.Context, q PromiseRequest) (agreed.Node, error) {
	switch {
	case j.belongs():
		return agreed.Node{}, fmt.Errorf("%w, and node %s is a member: join that cluster", agreed.ErrFounded, j.config.Self.Name)
	case q.Expect != j.config.Expect:
		return agreed.Node{}, fmt.Errorf("%w: node %s expects %d nodes, not %d", agreed.ErrInvalid, j.config.Self.Name, j.config.Expect, q.Expect)
	}
	if err := j.id.record.promise(q.Promise); err != nil {
		return agreed.Node{}, err
	}
	return j.config.Self, nil
}

// answerRelease takes a promise back: the founder has made the attempt void.
func (j *Joiner) answerRelease(_ context.Context, q Promise) (message.Nothing, error) {
	return message.Nothing{}, j.id.record.release(q)
}

// An attemptState is what has become of an attempt to found a cluster.
type attemptState struct {
	Void    bool   `json:"void,omitempty"`
	Cluster string `json:"cluster,omitempty"` // of the cluster that was founded
}

// answerAttempt tells a node that has promised what has become of the attempt: this node, the founder, has it on disk.
func (j *Joiner) answerAttempt(_ context.Context, q Promise) (attemptState, error) {
	f := j.id.record.get()
	switch {
	case q.Founder != f.ID || q.Attempt > f.Attempts:
		return attemptState{}, fmt.Errorf("%w: node %s has made no attempt %d to found a cluster", agreed.ErrInvalid, f.ID, q.Attempt)
	case f.Decided != nil:
		return attemptState{Cluster: f.Decided.Cluster.String()}, nil
	}
	return attemptState{Void: f.Promised == nil || *f.Promised != q}, nil
}
