package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/move"
)

const (
	// planDelay is how long the members must stay the same before a change of the table is planned: nodes that join in a
	// burst get one plan.
	planDelay = 500 * time.Millisecond
	// maxMoving is how many partitions may be between next and commit: for that long each takes no reservations.
	maxMoving = 16
	// maxAhead is how many copied partitions may wait for their turn before copying stops: a copy goes stale while it
	// waits.
	maxAhead = 8
	// maxChanges bounds one command about many partitions.
	maxChanges = 1024
	// proposeTime is the timeout of a proposal.
	proposeTime = 10 * time.Second
	// replanDelay is the time after which a plan that was not agreed is made again.
	replanDelay = time.Second
)

// schedulePlan schedules a plan of the table when the members have changed.
func (t *term) schedulePlan() {
	if members := fmt.Sprint(t.state.Members(), t.state.Replicas); members != t.members {
		t.members, t.planAt, t.targets = members, t.now()+int64(planDelay), nil
	}
}

// plan plans the table, once per change of the members.
func (t *term) plan() {
	if t.planAt == 0 || t.now() < t.planAt || t.proposing {
		return
	}
	t.planAt = 0
	targets, err := agreed.Plan(t.state)
	if err != nil {
		t.planAt = t.now() + int64(replanDelay)
		t.driver.config.Logger.Error("cannot assign the partitions to nodes", "error", err)
		return
	}
	if t.targets = targets; len(targets) > 0 {
		t.driver.config.Logger.Info("the members have changed: partitions move to other replicas",
			"members", len(t.state.Members()), "partitions", len(targets))
	}
}

// planForDead plans rescues and a removal for nodes that stay dead.
func (t *term) planForDead() {
	t.rescues, t.removal = agreed.PlanRescues(t.state, t.dead), nil
	if n, found := agreed.PlanRemoval(t.state, t.dead); found {
		t.removal = &n
	}
}

// ahead says whether maxAhead copied partitions wait for their turn.
func (t *term) ahead() bool {
	waiting := 0
	for _, j := range t.agrees {
		if t.canFinish(j) {
			waiting++
		}
	}
	return waiting >= maxAhead
}

// canFinish says whether enough nodes are alive for a move to finish once it starts. Until then, checks continue with
// the replicas that there are.
func (t *term) canFinish(j job) bool {
	place := &t.state.Table.Places[j.partition]
	agree, is := j.action.(move.Agree)
	return is && t.countAlive(place.Replicas) >= ring.Enough(len(place.Replicas)) && t.countAlive(agree.Next) >= ring.Majority(len(agree.Next))
}

// countAlive counts the nodes that are alive.
func (t *term) countAlive(nodes []ring.NodeID) (n int) {
	for _, id := range nodes {
		if !t.dead(id, 0) {
			n++
		}
	}
	return n
}

// propose proposes what is most urgent: commits of moves, then rescues, then starts of moves, then plans, then a removal.
func (t *term) propose(ctx context.Context) {
	t.agrees, t.commits = t.wanted(t.agrees), t.wanted(t.commits)
	if t.proposing || t.state == nil {
		return
	}
	begin := t.startable()
	switch {
	case len(t.commits) > 0:
		jobs := t.commits
		t.commits = nil
		t.proposeJobs(ctx, jobs, func(c []agreed.Change) agreed.Command { return agreed.Command{Commit: &agreed.Commit{Changes: c}} })
	case len(t.rescues) > 0:
		changes := t.rescues
		t.rescues = nil
		t.proposeChanges(ctx, changes, func(c []agreed.Change) agreed.Command { return agreed.Command{SetNext: &agreed.SetNext{Changes: c}} }, func(errs []error) {
			t.rescues = nil
			if err := errors.Join(errs...); err != nil {
				t.driver.config.Logger.Debug("moves to dead nodes were not redirected; retrying", "error", err)
				return
			}
			t.driver.config.Logger.Warn("redirected moves to other nodes: too many of their nodes are dead", "partitions", len(changes))
		})
	case len(begin) > 0:
		t.agrees = slices.DeleteFunc(t.agrees, func(j job) bool { return slices.ContainsFunc(begin, j.same) })
		t.proposeJobs(ctx, begin, func(c []agreed.Change) agreed.Command { return agreed.Command{SetNext: &agreed.SetNext{Changes: c}} })
	case len(t.targets) > 0:
		t.proposeTargets(ctx)
	case t.removal != nil:
		t.proposeRemoval(ctx)
	}
}

// wanted drops the jobs that their moves no longer want, and all but the last job of each partition.
func (t *term) wanted(jobs []job) []job {
	var kept, dropped []job
	for i, j := range jobs {
		if t.moves[j.partition].Wants(j.action) && !slices.ContainsFunc(jobs[i+1:], j.same) {
			kept = append(kept, j)
		} else {
			dropped = append(dropped, j)
		}
	}
	for _, j := range dropped {
		t.step(j.partition, move.Answer{To: j.action})
	}
	return kept
}

// startable are the moves that may start now. A move that is under way and gets another next may always start.
func (t *term) startable() []job {
	room := maxMoving
	for p := range t.state.Table.Places {
		if len(t.state.Table.Places[p].Next) > 0 {
			room--
		}
	}
	var jobs []job
	for _, j := range t.agrees {
		under := len(t.state.Table.Places[j.partition].Next) > 0
		if !under && (room <= 0 || !t.canFinish(j)) {
			continue
		}
		if !under {
			room--
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// proposeJobs proposes the actions of several moves in one command.
func (t *term) proposeJobs(ctx context.Context, jobs []job, with func([]agreed.Change) agreed.Command) {
	changes := make([]agreed.Change, 0, len(jobs))
	for _, j := range jobs {
		switch a := j.action.(type) {
		case move.Agree:
			changes = append(changes, agreed.Change{Partition: j.partition, Epoch: a.Epoch, Replicas: a.Next})
		case move.Commit:
			changes = append(changes, agreed.Change{Partition: j.partition, Epoch: a.Epoch, Replicas: a.Next})
		}
	}
	t.proposeChanges(ctx, changes, with, func(errs []error) {
		for i, j := range jobs {
			if errs[i] != nil {
				t.failed(ring.NodeID{}, j, "agree", errs[i])
			}
			t.step(j.partition, move.Answer{To: j.action, OK: errs[i] == nil})
		}
	})
}

// proposeTargets proposes the next piece of the plan.
func (t *term) proposeTargets(ctx context.Context) {
	piece := t.targets[:min(len(t.targets), maxChanges)]
	members := t.members
	t.proposeChanges(ctx, piece, func(c []agreed.Change) agreed.Command {
		return agreed.Command{SetTarget: &agreed.SetTarget{Changes: c}}
	}, func(errs []error) {
		err := errors.Join(errs...)
		switch {
		case members != t.members: // there will be another plan
		case err != nil:
			t.driver.config.Logger.Debug("a plan was not agreed; the leader plans again", "error", err)
			t.targets, t.planAt = nil, t.now()+int64(replanDelay)
		default:
			t.targets = t.targets[len(piece):]
		}
	})
}

// proposeRemoval removes a node that has been dead for long. The driver then plans for the changed members.
func (t *term) proposeRemoval(ctx context.Context) {
	node := *t.removal
	t.removal = nil
	t.runProposal(ctx, func(ctx context.Context) result {
		err := t.driver.config.Propose(ctx, agreed.Command{Remove: &agreed.Remove{ID: node.ID, Force: true}})
		return func(t *term) {
			t.removal = nil
			if err != nil {
				t.driver.config.Logger.Debug("a dead node was not removed", "node", node.Name, "error", err)
				return
			}
			t.driver.config.Logger.Warn("permanently removed a dead node; with an empty data directory it may join as a new node",
				"node", node.Name, "id", node.ID, "dead_for", agreed.RemoveAfter)
		}
	})
}

// proposeChanges proposes changes of several partitions in one command, which takes effect as a whole. If that is refused,
// because some were made for another state, each is proposed on its own.
func (t *term) proposeChanges(ctx context.Context, changes []agreed.Change, with func([]agreed.Change) agreed.Command, then func(errs []error)) {
	propose := t.driver.config.Propose
	t.runProposal(ctx, func(ctx context.Context) result {
		errs := make([]error, len(changes))
		err := propose(ctx, with(changes))
		alone := err != nil && !errors.Is(err, agreed.ErrNotLeader) && !errors.Is(err, agreed.ErrUnknownOutcome) && len(changes) > 1
		for i := range changes {
			if errs[i] = err; alone && ctx.Err() == nil {
				errs[i] = propose(ctx, with(changes[i:i+1]))
			}
		}
		return func(*term) { then(errs) }
	})
}

// runProposal makes a proposal on its own goroutine.
func (t *term) runProposal(ctx context.Context, propose func(ctx context.Context) result) {
	t.proposing = true
	t.work.Go(func() {
		limited, cancel := context.WithTimeout(ctx, proposeTime)
		defer cancel()
		r := propose(limited)
		t.report(ctx, func(t *term) {
			t.proposing = false
			r(t)
		})
	})
}
