package actor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// errDead is what a peer answers that has died.
var errDead = errors.New("connection refused")

// A peer is a node that takes the steps of every replica, in memory, and can be in trouble.
type peer struct {
	name  string
	now   func() int64
	delay func() time.Duration // of each message and of each answer; nil: they are there at once

	mu         sync.Mutex
	dead       bool // it answers with an error
	silent     bool // it answers nothing
	partitions []register.Partition
	registers  map[registerID]register.Register
	messages   int
	asked      int // reservations
}

type registerID struct {
	partition  ring.Partition
	key, limit string
}

func (p *peer) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	sent := p.now()
	p.mu.Lock()
	p.messages++
	p.asked += len(rs)
	p.mu.Unlock()
	p.later(func() {
		p.mu.Lock()
		dead, silent := p.dead, p.silent
		p.mu.Unlock()
		switch {
		case dead:
			done(nil, errDead)
		case !silent:
			answers := p.decide(rs, sent)
			p.later(func() { done(answers, nil) })
		}
	})
}

func (p *peer) later(f func()) {
	if p.delay == nil {
		f()
		return
	}
	time.AfterFunc(p.delay(), f)
}

func (p *peer) decide(rs []register.Reservation, sent int64) []register.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	answers := make([]register.Answer, len(rs))
	for i, m := range rs {
		m.Now = sent
		id := registerID{m.Partition, m.Key, m.Limit}
		after, a, write := p.partitions[m.Partition].Reserve(p.registers[id], m, p.now(), register.DefaultBounds())
		if answers[i] = a; write {
			p.registers[id] = after
		}
	}
	return answers
}

func (p *peer) Look(ctx context.Context, part ring.Partition, key, name string) (storage.Looked, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
		return storage.Looked{}, errDead
	case p.silent:
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
		return storage.Looked{}, ctx.Err()
	}
	reg, ok := p.registers[registerID{part, key, name}]
	return storage.Looked{Register: reg, Exists: ok, Partition: p.partitions[part]}, nil
}

// trouble puts the peer into a state, or out of it.
func (p *peer) trouble(dead, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead, p.silent = dead, silent
}

// change changes the peer's record of every partition.
func (p *peer) change(f func(*register.Partition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.partitions {
		f(&p.partitions[i])
	}
}

// counted is how many messages the peer got, and reservations in them, since it was asked last.
func (p *peer) counted() (messages, reservations int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	messages, reservations = p.messages, p.asked
	p.messages, p.asked = 0, 0
	return messages, reservations
}

// A cluster is some peers, and what is agreed about where partitions are.
type cluster struct {
	now    func() int64
	peers  []*peer
	places []ring.Place // by partition; replicas are numbered by the first byte of their ids
}

// newCluster has nodes peers, of which the first replicas are every partition's.
func newCluster(now func() int64, nodes, replicas, partitions int) *cluster {
	c := &cluster{now: now}
	for i := range nodes {
		c.peers = append(c.peers, &peer{
			name: fmt.Sprintf("node-%d", i+1), now: now,
			partitions: make([]register.Partition, partitions), registers: map[registerID]register.Register{},
		})
	}
	for range partitions {
		place := ring.Place{Epoch: ring.FirstEpoch}
		for i := range replicas {
			place.Replicas = append(place.Replicas, ring.NodeID{byte(i)})
		}
		c.places = append(c.places, place)
	}
	for _, p := range c.peers[:replicas] {
		p.change(func(at *register.Partition) { at.Epoch = ring.FirstEpoch })
	}
	return c
}

// slowly gives every message and answer a delay of its own, up to most.
func (c *cluster) slowly(most time.Duration) {
	for _, p := range c.peers {
		p.delay = func() time.Duration { return rand.N(most) + 1 }
	}
}

// A viewer is where one System sees partitions. It learns of changes when it is told.
type viewer struct {
	cluster    *cluster
	sets       map[string]*ReplicaSet // by the nodes
	placements []atomic.Pointer[Placement]
}

func (c *cluster) viewer() *viewer {
	v := &viewer{cluster: c, sets: map[string]*ReplicaSet{}, placements: make([]atomic.Pointer[Placement], len(c.places))}
	for p := range c.places {
		v.learn(ring.Partition(p))
	}
	return v
}

// learn takes up where a partition is now.
func (v *viewer) learn(p ring.Partition) {
	place := v.cluster.places[p]
	nodes := slices.Clone(place.Replicas)
	slices.SortFunc(nodes, ring.NodeID.Compare)
	name := fmt.Sprint(nodes)
	if v.sets[name] == nil {
		var (
			replicas []Replica
			names    []string
		)
		for _, id := range nodes {
			replicas, names = append(replicas, v.cluster.peers[id[0]]), append(names, v.cluster.peers[id[0]].name)
		}
		v.sets[name] = NewReplicaSet(replicas, names)
	}
	v.placements[p].Store(&Placement{Epoch: place.Epoch, Set: v.sets[name]})
}

// at is the Config.Placement of the System.
func (v *viewer) at(p ring.Partition) *Placement { return v.placements[p].Load() }

// start runs a System that sees the cluster so.
func (v *viewer) start(tb testing.TB, cfg Config) *System {
	tb.Helper()
	cfg.Now, cfg.Partitions, cfg.Placement = v.cluster.now, len(v.cluster.places), v.at
	return start(tb, cfg)
}

// members are enough of a partition's replicas to know all that a majority has accepted, and no more, whichever.
func (c *cluster) members(p ring.Partition) (enough []*peer) {
	ids := slices.Clone(c.places[p].Replicas)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[:ring.Enough(len(ids))] {
		enough = append(enough, c.peers[id[0]])
	}
	return enough
}

// seal makes replicas refuse a partition's epoch.
func seal(p ring.Partition, members []*peer) {
	for _, m := range members {
		m.mu.Lock()
		m.partitions[p].Sealed = true
		m.mu.Unlock()
	}
}

// A joint is what replicas know of a partition together.
type joint struct {
	state     register.Partition
	registers map[registerID]register.Register
}

// join puts together what sealed members of a partition know.
func (c *cluster) join(p ring.Partition, members []*peer) (j joint, err error) {
	j.registers = map[registerID]register.Register{}
	var states []register.Partition
	for _, m := range members {
		m.mu.Lock()
		states = append(states, m.partitions[p])
		for id, reg := range m.registers {
			if id.partition == p {
				j.registers[id] = j.registers[id].Join(reg)
			}
		}
		m.mu.Unlock()
	}
	place := c.places[p]
	j.state, err = register.Join(states, ring.Enough(len(place.Replicas)), place.Epoch+1)
	return j, err
}

// install makes a partition's registers complete on its next members, and agrees that these are its replicas now.
func (c *cluster) install(p ring.Partition, next []ring.NodeID, j joint) {
	old := c.places[p]
	c.places[p] = ring.Place{Epoch: old.Epoch + 1, Replicas: next}
	for _, id := range next {
		to := c.peers[id[0]]
		to.mu.Lock()
		if !old.Has(id) { // what it holds may be of long ago
			maps.DeleteFunc(to.registers, func(id registerID, _ register.Register) bool { return id.partition == p })
		}
		for id, reg := range j.registers {
			to.registers[id] = to.registers[id].Join(reg)
		}
		at := &to.partitions[p]
		at.Sealed, at.Installed, at.Horizon = true, c.places[p].Epoch, j.state.Horizon
		to.mu.Unlock()
	}
}

// enter lets a member see that the epoch for which it is installed is agreed.
func (c *cluster) enter(p ring.Partition, id ring.NodeID) {
	to := c.peers[id[0]]
	to.mu.Lock()
	defer to.mu.Unlock()
	at := &to.partitions[p]
	at.Epoch, at.Installed, at.Sealed = at.Installed, 0, false
}

// move does all that.
func (c *cluster) move(tb testing.TB, p ring.Partition, next []ring.NodeID) {
	tb.Helper()
	members := c.members(p)
	seal(p, members)
	j, err := c.join(p, members)
	if err != nil {
		tb.Fatal(err)
	}
	c.install(p, next, j)
	for _, id := range next {
		c.enter(p, id)
	}
}

// some are n of the cluster's nodes, whichever.
func (c *cluster) some(n int) (ids []ring.NodeID) {
	for _, i := range rand.Perm(len(c.peers))[:n] {
		ids = append(ids, ring.NodeID{byte(i)})
	}
	return ids
}

// ids are the nodes of those numbers.
func (c *cluster) ids(numbers ...int) (ids []ring.NodeID) {
	for _, i := range numbers {
		ids = append(ids, ring.NodeID{byte(i)})
	}
	return ids
}
