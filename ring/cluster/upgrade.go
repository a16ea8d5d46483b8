package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// An Upgrade is a change of the cluster's level.
type Upgrade struct {
	From int `json:"from"`
	To   int `json:"to"` // From where there is nothing to raise
	// Members are those of the cluster by name, with what they know.
	Members []MemberLevels `json:"members"`
}

// MemberLevels are the levels that a member knows.
type MemberLevels struct {
	Name    string      `json:"name"`
	Release string      `json:"release,omitempty"` // empty from one that does not tell
	Levels  level.Range `json:"levels"`

	id      ring.NodeID
	process agreed.Unique
	err     error // why it has not said so
}

// Upgrade raises the cluster's level: to the one given, or, for 0, to the newest that all members know. Before, the leader has each of them
// say that it knows that level; it is refused (agreed.ErrLevel) where one does not answer or does not know it. There is no way back: from
// then on releases that do not know the level are kept out. With dry it only says what would be done. It waits for a leader as SetLimits
// does, and returns once this node knows the level.
func (c *Cluster) Upgrade(ctx context.Context, to int, dry bool) (Upgrade, error) {
	u, err := message.AskLeader[Upgrade](ctx, c.leader, message.KindRaise, raiseRequest{To: to, Dry: dry, By: c.entry(ctx, agreed.VerbUpgrade, "level", "")})
	if message.IsUnknownKind(err) {
		return u, fmt.Errorf("%w: the leader is of a release that knows only level %d: run this release on every node first", agreed.ErrLevel, level.First)
	}
	if err != nil || dry {
		return u, err
	}
	for {
		changed := c.Changed()
		if c.State().AgreedLevel() >= u.To {
			return u, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return u, nil // it is agreed; this node is late
		}
	}
}

// A raiseRequest asks the leader to raise the level.
type raiseRequest struct {
	To  int  `json:"to,omitempty"` // 0: the newest that all know
	Dry bool `json:"dry,omitempty"`
	// By is what the audit log says of it. The leader adds the levels.
	By *agreed.Entry `json:"by,omitempty"`
}

func (c *Cluster) answerRaise(ctx context.Context, q raiseRequest) (Upgrade, error) {
	s := c.agreement.State()
	u := Upgrade{From: s.AgreedLevel(), To: q.To, Members: c.askLevels(ctx, s)}
	if q.To == 0 {
		u.To = max(newestOfAll(u.Members), u.From)
	}
	if err := u.refused(); err != nil || q.Dry {
		return u, err
	}
	processes := map[ring.NodeID]agreed.Unique{}
	for _, m := range u.Members {
		processes[m.id] = m.process
	}
	for to := u.From + 1; to <= u.To; to++ {
		command := agreed.Command{Raise: &agreed.Raise{To: to, Processes: processes}}
		if q.By != nil {
			by := *q.By
			by.Detail = fmt.Sprintf("%d to %d", to-1, to)
			command.By = &by
		}
		if err := c.agreement.Propose(ctx, command); err != nil {
			return u, err
		}
	}
	return u, nil
}

// refused says why the level is not raised.
func (u *Upgrade) refused() error {
	var silent, older []string
	for _, m := range u.Members {
		switch {
		case m.err != nil:
			silent = append(silent, fmt.Sprintf("%s (%v)", m.Name, m.err))
		case !m.Levels.Has(u.To):
			older = append(older, fmt.Sprintf("%s knows %s", strings.TrimSpace(m.Name+" "+m.Release), m.Levels))
		}
	}
	switch {
	case u.To < u.From:
		return fmt.Errorf("%w: the level is %d, and is never lowered to %d", agreed.ErrLevel, u.From, u.To)
	case len(silent) > 0:
		return fmt.Errorf("%w: not every member says what it knows: %s: start them, or remove those that are gone for good", agreed.ErrLevel, strings.Join(silent, "; "))
	case len(older) > 0:
		return fmt.Errorf("%w: not every member knows level %d: %s: run a release that knows it on them first", agreed.ErrLevel, u.To, strings.Join(older, "; "))
	}
	return nil
}

// newestOfAll is the newest level that all members know that have said so.
func newestOfAll(members []MemberLevels) (most int) {
	for _, m := range members {
		if m.err == nil && (most == 0 || m.Levels.Newest < most) {
			most = m.Levels.Newest
		}
	}
	return most
}

// askLevels asks each member of a state now: what was heard earlier may be of a process that another release has replaced.
func (c *Cluster) askLevels(ctx context.Context, s *agreed.State) []MemberLevels {
	var (
		mu     sync.Mutex
		told   []MemberLevels
		others []agreed.Node
	)
	note := func(n agreed.Node, p message.Pong, err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, MemberLevels{Name: n.Name, Release: p.Release, Levels: p.Knows(), id: n.ID, process: p.Process, err: err})
	}
	for id, n := range s.Nodes {
		if id == c.config.ID {
			own, err := c.health.AnswerPing(ctx, message.Nothing{})
			note(n, own, err)
			continue
		}
		others = append(others, n)
	}
	message.ForEach(others, func(n agreed.Node) {
		p, err := c.health.Ping(ctx, c.directory.AddressOfNode(n))
		if err == nil && p.ID != n.ID {
			err = fmt.Errorf("%w: another node answers at %s", message.ErrUnreachable, n.GRPC)
		}
		note(n, p, err)
	})
	slices.SortFunc(told, func(a, b MemberLevels) int { return cmp.Compare(a.Name, b.Name) })
	return told
}
