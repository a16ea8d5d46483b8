package nemesis

import (
	"context"
	"time"
)

var (
	kindKilled = Kind{
		Name: "killed", Weight: 4, Shortest: 100 * time.Millisecond, Longest: 8 * time.Second, Recovery: time.Second,
		Draw: func(d *Drawing) Fault { return killed{d.one()} },
	}
	kindLeaderKilled = Kind{
		Name: "leader killed", Weight: 1, Shortest: time.Second, Longest: 8 * time.Second, Recovery: time.Second,
		Draw: func(*Drawing) Fault { return &leaderKilled{} },
	}
	kindTwoKilled = Kind{
		Name: "majority killed", Weight: 1, Shortest: 500 * time.Millisecond, Longest: 5 * time.Second, Recovery: 2 * time.Second, Majority: true,
		Draw: func(d *Drawing) Fault { return manyKilled{victims{numbers: d.some(d.minority() + 1)}} },
	}
	kindAllKilled = Kind{
		Name: "all killed", Weight: 1, Longest: 3 * time.Second, Recovery: 2 * time.Second, Majority: true,
		Draw: func(*Drawing) Fault { return manyKilled{victims{all: true}} },
	}
)

// killed is one node that is killed as kill -9 does, and started again.
type killed struct{ node int }

func (f killed) String() string { return names(f.node) + " is killed" }

// Begin kills it.
func (f killed) Begin(_ context.Context, s *Stage) error {
	s.traffic.killing()
	return s.host(f.node).kill()
}

// End starts it again.
func (f killed) End(ctx context.Context, s *Stage) error { return s.back(ctx, s.host(f.node)) }

// leaderKilled is whichever node leads raft when it begins: who that is, is not in the schedule.
type leaderKilled struct{ victim *host }

func (f *leaderKilled) String() string {
	if f.victim == nil {
		return "the node that leads raft is killed"
	}
	return "the node that leads raft, " + f.victim.name + ", is killed"
}

// Begin kills it.
func (f *leaderKilled) Begin(ctx context.Context, s *Stage) (err error) {
	if f.victim, err = s.leader(ctx); err != nil {
		return err
	}
	s.traffic.killing()
	return f.victim.kill()
}

// End starts it again.
func (f *leaderKilled) End(ctx context.Context, s *Stage) error { return s.back(ctx, f.victim) }

// manyKilled are some nodes or gateways, or all, that are killed at once.
type manyKilled struct{ victims }

func (f manyKilled) String() string { return f.who() + " " + f.be() + " killed" }

// Begin kills them.
func (f manyKilled) Begin(_ context.Context, s *Stage) error { return f.each(s, (*host).kill) }

// End starts them again.
func (f manyKilled) End(ctx context.Context, s *Stage) error { return s.back(ctx, f.hosts(s)...) }
