package activity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// lookFor is for how long a Look is the answer to everybody who asks, from when it began: one that waited for a silent node is as old as others then.
const lookFor = 500 * time.Millisecond

// SourceConfig says where a [Source] looks.
type SourceConfig struct {
	// Name and Version are the node's. Required.
	Name, Version string
	// Here is what this node is doing. It is called with a context that ends soon. The Source fills in Name, Version, Started, Now and Gateways.
	// Required.
	Here func(ctx context.Context) (Node, error)
	// Search looks for keys of this node. Required.
	Search func(ctx context.Context, q KeysAsked) (KeysFound, error)
	// Others has all other nodes of the cluster answer a question, which this node's [Source.Answer] would answer too, and waits for each no longer
	// than half a second. Nil: there are none.
	Others func(ctx context.Context, question json.RawMessage) []Told
	// Status is how the cluster is. Nil: there is none.
	Status func(ctx context.Context) *status.Status
	// Panics counts the bugs that the functions above run into: each is an answer that is missing, and not the end of the process. Nil counts nowhere.
	Panics prometheus.Counter
}

// Told is what another node has answered.
type Told struct {
	Name, ID string
	Answer   json.RawMessage
	Error    string // why there is no answer
}

// A Source looks at all nodes of a cluster for those who ask this one. It does nothing while nobody asks. It is safe for concurrent use.
type Source struct {
	cfg      SourceConfig
	started  time.Time
	gateways gateways

	mu      sync.Mutex
	looking *looking // the last one; nil for none
}

// A looking is a Look that is being made, or was.
type looking struct {
	begun time.Time
	done  chan struct{} // closed when it is made
	look  Look
}

// old says whether it is made, and no answer any more.
func (l *looking) old() bool {
	select {
	case <-l.done:
		return time.Since(l.begun) >= lookFor
	default:
		return false
	}
}

// NewSource makes a Source. The process counts as started now.
func NewSource(cfg SourceConfig) *Source {
	if cfg.Panics == nil {
		cfg.Panics = prometheus.NewCounter(prometheus.CounterOpts{})
	}
	return &Source{cfg: cfg, started: time.Now()}
}

// A question is what nodes ask one another. One that an older node does not know is refused in words.
type question struct {
	Keys *KeysAsked `json:"keys,omitempty"` // nil: what are you doing?
}

// Look is what all nodes are doing. All who ask within half a second get the same Look, and only one is made at a time. The error is that
// of ctx.
func (s *Source) Look(ctx context.Context) (Look, error) {
	s.mu.Lock()
	l := s.looking
	if l == nil || l.old() {
		l = &looking{begun: time.Now(), done: make(chan struct{})}
		s.looking = l
		s.mu.Unlock()
		s.make(ctx, l)
		return l.look, nil
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.look, nil
	case <-ctx.Done():
		return Look{}, ctx.Err()
	}
}

// make makes a Look, for others too: it goes on when ctx ends.
func (s *Source) make(ctx context.Context, l *looking) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookFor)
	defer cancel()
	l.look = Look{At: time.Now(), Asked: s.cfg.Name}
	var wait sync.WaitGroup
	if s.cfg.Status != nil {
		wait.Go(func() {
			l.look.Cluster, _ = safely(s, func() (*status.Status, error) { return s.cfg.Status(ctx), nil })
		})
	}
	var own Node
	wait.Go(func() { own = s.here(ctx) })
	others := ask[Node](ctx, s, question{})
	wait.Wait()
	for _, o := range others {
		if o.err != nil {
			o.answer = Node{Error: o.err.Error()}
		}
		o.answer.Name, o.answer.ID = o.name, o.id
		l.look.Nodes = append(l.look.Nodes, o.answer)
	}
	if c := l.look.Cluster; c != nil {
		for _, n := range c.Nodes {
			if n.Name == s.cfg.Name {
				own.ID = n.ID.String()
			}
		}
	}
	l.look.Nodes = append(l.look.Nodes, own)
	slices.SortFunc(l.look.Nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
}

// here is what this node tells of itself.
func (s *Source) here(ctx context.Context) Node {
	n, err := safely(s, func() (Node, error) { return s.cfg.Here(ctx) })
	if err != nil {
		n = Node{Error: err.Error()}
	}
	n.Name, n.Version, n.Started, n.Now = s.cfg.Name, s.cfg.Version, s.started, time.Now()
	n.Gateways = s.gateways.told(n.Now)
	return n
}

// search finds keys of this node.
func (s *Source) search(ctx context.Context, q KeysAsked) (KeysFound, error) {
	q.Most = q.most()
	return safely(s, func() (KeysFound, error) { return s.cfg.Search(ctx, q) })
}

// safely calls f, and turns a panic into an error. Some of what is asked for here is found in goroutines that no call of a server guards.
func safely[A any](s *Source, f func() (A, error)) (answer A, err error) {
	defer fault.Rescue(s.cfg.Panics, &err)
	return f()
}

// Answer answers a question of another node's Source.
func (s *Source) Answer(ctx context.Context, text json.RawMessage) (json.RawMessage, error) {
	var q question
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, fmt.Errorf("reading what another node asks: %w", err)
	}
	if q.Keys == nil {
		return json.Marshal(s.here(ctx))
	}
	found, err := s.search(ctx, *q.Keys)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

// Tell takes in what a gateway says that it does. See [Gateway]; the error says what is wrong with it.
func (s *Source) Tell(text []byte) error { return s.gateways.tell(text, time.Now()) }

// An answered is what one other node has answered.
type answered[A any] struct {
	name, id string
	answer   A
	err      error
}

// ask asks all other nodes.
func ask[A any](ctx context.Context, s *Source, q question) (all []answered[A]) {
	if s.cfg.Others == nil {
		return nil
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil
	}
	for _, told := range s.cfg.Others(ctx, text) {
		a := answered[A]{name: told.Name, id: told.ID}
		if told.Error != "" {
			a.err = errors.New(told.Error)
		} else if err := json.Unmarshal(told.Answer, &a.answer); err != nil {
			a.err = fmt.Errorf("it answers what this node cannot read: %w", err)
		}
		all = append(all, a)
	}
	return all
}
