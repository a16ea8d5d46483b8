package joining

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// becomeMember makes this node a member whose mark is raised, and waits until this node has heard that itself. Raft runs.
func (j *Joiner) becomeMember(ctx context.Context) error {
	if err := j.enroll(ctx); err != nil {
		return err
	}
	if j.config.Confirm != nil { // the voters, or the leader, have found no higher mark
		if err := j.config.Confirm(ctx); err != nil {
			return err
		}
	}
	if err := j.raiseMark(ctx, j.config.Mark); err != nil {
		return err
	}
	for {
		changed := j.config.Changed()
		if j.config.State().Nodes[j.config.Self.ID].Process == j.process {
			return j.id.record.belong(j.config.State().Cluster)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// enrollsWithin is how long it may take until the leader has let a node in before that is worth a line in the log: nodes that start
// together wait for one another's ports.
const enrollsWithin = 3 * time.Second

// enroll has the leader let this node in. What may still pass is tried again for a while: the node whose name this one has
// may be dead and not known to be, and this node's ports may be on their way.
func (j *Joiner) enroll(ctx context.Context) error {
	var since time.Time
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		_, err := message.AskLeader[message.Nothing](ctx, j.config.Leader, message.KindJoin, joinRequest{
			Node: j.config.Self, Before: j.config.MarkBefore, Levels: &j.config.Levels,
		})
		passing := errors.Is(err, agreed.ErrNameTaken) || errors.Is(err, message.ErrUnreachable) || errors.Is(err, agreed.ErrTooFew)
		switch {
		case !passing && !errors.Is(err, agreed.ErrStale):
			return err
		case since.IsZero():
			since = time.Now()
		case passing && time.Since(since) > j.config.Patience:
			return err
		}
		j.setWaiting("the cluster has not admitted the node yet: " + err.Error())
		if time.Since(since) > enrollsWithin && j.throttle.Allow("enroll") {
			j.logger.Warn("the cluster has not admitted this node yet", "error", err)
		}
		if _, err := message.Pause(ctx, wait, nil); err != nil {
			return err
		}
	}
}

// A markRequest asks the leader to raise a node's mark.
type markRequest struct {
	agreed.RaiseMark

	// Levels are as in a joinRequest: the level may have been raised since the node was let in.
	Levels *level.Range `json:"levels,omitempty"`
}

func (j *Joiner) answerMark(ctx context.Context, q markRequest) (message.Nothing, error) {
	for {
		s := j.agreement.State()
		if err := admissibleAt(s.AgreedLevel(), level.Told(q.Levels)); err != nil {
			return message.Nothing{}, err
		}
		err := j.agreement.Propose(ctx, agreed.Command{Mark: &q.RaiseMark, Level: s.Level})
		if !errors.Is(err, agreed.ErrStale) { // the level was raised meanwhile
			return message.Nothing{}, err
		}
	}
}

// raiseMark has the cluster agree on this node's mark. If another process has raised the same or a higher one, it runs on
// a copy of this disk.
func (j *Joiner) raiseMark(ctx context.Context, m agreed.Mark) error {
	_, err := message.AskLeader[message.Nothing](ctx, j.config.Leader, message.KindMark, markRequest{
		RaiseMark: agreed.RaiseMark{ID: j.config.Self.ID, Mark: m, Process: j.process}, Levels: &j.config.Levels,
	})
	if errors.Is(err, agreed.ErrMarkNotHigher) {
		return fmt.Errorf("%w (node %s, %q): stop the other process, and give each node its own data directory, empty at first: %w",
			message.ErrDiskInUse, j.config.Self.ID, j.config.Self.Name, err)
	}
	return err
}

// FollowMarks has the cluster agree on each later mark, and on the present one when another process claims to be this
// node. Only the newest matters.
func (j *Joiner) FollowMarks(ctx context.Context) error {
	m := j.config.Mark
	for {
		select {
		case <-ctx.Done():
			return nil
		case m = <-j.config.NewMarks:
		case <-j.twin:
		}
		try, cancel := context.WithTimeout(ctx, 2*message.LeadTime)
		err := j.raiseMark(try, m)
		cancel()
		if errors.Is(err, message.ErrDiskInUse) || errors.Is(err, agreed.ErrRemoved) || errors.Is(err, agreed.ErrUnknownNode) {
			return err
		}
	}
}
