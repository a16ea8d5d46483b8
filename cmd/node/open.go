package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/datadir"
)

// Open starts a node: on return its servers run. A node that is alone or founds a cluster by itself is ready then; one
// that waits for others becomes so, as Ready tells. Open's errors name the option that is wrong and what would be right.
func Open(cfg Config) (n *Node, err error) {
	n = &Node{parts: parts{
		cfg: cfg, clock: clock.New(), metrics: prometheus.NewRegistry(),
		stopping: make(chan struct{}),
	}}
	if err := n.cfg.setDefaults(); err != nil {
		return nil, err
	}
	n.doors = door.New(n.cfg.Logger)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.abandon())
			n = nil
		}
	}()
	if err := n.openTracing(); err != nil {
		return n, err
	}
	if n.listeners, err = bound.NewMetrics(n.metrics); err != nil {
		return n, err
	}
	if err := n.secrets.read(&n.cfg, n.metrics); err != nil {
		return n, err
	}
	if err := n.openLimits(); err != nil {
		return n, err
	}
	// The listeners come before the data directory: an address in use must not cost a start of the registers.
	if err := n.openListeners(); err != nil {
		return n, err
	}
	n.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := n.openCore(); err != nil {
		return n, err
	}
	n.activity = n.newSource()
	if err := n.openEdge(); err != nil {
		return n, err
	}
	if err := n.openServers(); err != nil {
		return n, err
	}
	if n.member != nil {
		err = n.member.start()
	}
	return n, err
}

func (n *Node) openListeners() (err error) {
	if n.grpcListener, err = n.listen(grpcOption, n.cfg.ListenGRPC); err != nil {
		return err
	}
	if n.httpListener, err = n.listen(httpOption, n.cfg.ListenHTTP); err != nil {
		return err
	}
	if n.redisListener, err = n.listen(redisOption, n.cfg.ListenRedis); err != nil {
		return err
	}
	for name, address := range map[string]string{gossipOption: n.cfg.ListenGossip, raftOption: n.cfg.ListenRaft} {
		if address == "" {
			continue
		}
		if err := n.checkListen(name, address); err != nil { // the cluster listens there itself
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// openCore opens what decides: the registers, the other nodes' registers if there are any, and the actors on top.
func (n *Node) openCore() (err error) {
	n.addCoreClosers()
	cfg := storage.Config{
		Dir: n.cfg.Data, FS: n.cfg.FS, Durability: n.cfg.Durability, Restored: n.cfg.Restored,
		Inline: n.cfg.InlineRegisters, Partitions: n.cfg.partitions, Now: n.clock.Now, Memory: n.cfg.storageMemory(), Logger: n.cfg.Logger, Metrics: n.metrics,
	}
	if n.cfg.FS == vfs.Default {
		if err := keepPrivate(n.cfg.Data, n.cfg.Logger); err != nil {
			return err
		}
	}
	if !n.cfg.alone() {
		return n.openMember(cfg)
	}
	if err := n.cfg.checkAlone(); err != nil {
		return err
	}
	cfg.Format = datadir.NewestFormat
	if n.store, err = storage.Open(cfg); err != nil {
		return err
	}
	inTokens := level.OfFormat(n.store.Format()) < level.LedgersInTime // of a directory that the release before has begun
	if err := n.store.Found(context.Background()); err != nil {
		return err
	}
	n.system, err = actor.New(actor.Config{
		Replicas: []actor.Replica{n.replica()}, Partitions: n.cfg.partitions, Limits: n.Limits, Now: n.clock.Now,
		LedgersInTokens: func() bool { return inTokens },
		InlineFill:      n.cfg.InlineFill, Memory: n.cfg.actorMemory(), Full: n.store.Full,
		Node: n.cfg.Name, Logger: n.cfg.Logger, Metrics: n.metrics, ShowHotKeys: n.cfg.ShowHotKeys,
	})
	if err != nil {
		return err
	}
	return n.observe(n.system)
}

// addCoreClosers has what openCore opens closed with the node, as far as it has come.
func (n *Node) addCoreClosers() {
	n.opened.Add(func(context.Context) error {
		if n.store == nil {
			return nil
		}
		return n.store.Close()
	})
	n.opened.Add(func(context.Context) error {
		if n.member == nil {
			return nil
		}
		return n.member.close()
	})
	n.opened.Add(func(context.Context) error {
		if n.system != nil {
			n.system.Close()
		}
		return nil
	})
	n.opened.Add(func(context.Context) error {
		if n.member != nil {
			n.member.end()
		}
		n.running.Wait()
		return nil
	})
}

// abandonWithin is how long callers have to be answered when Open has failed.
const abandonWithin = time.Second

// abandon closes what Open had opened when something after it went wrong.
func (n *Node) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonWithin)
	defer cancel()
	n.stop.Do(func() { close(n.stopping) })
	n.doors.Stop(ctx)
	return n.opened.Close(ctx)
}
