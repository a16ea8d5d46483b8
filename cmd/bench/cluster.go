package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/storage"
)

// The replicas that each register has in a cluster with nodes enough: what a node sets up by itself.
const replicas = 3

// How a cluster that has just been started is waited for.
const (
	settledWithin = time.Minute
	lookEvery     = 50 * time.Millisecond
)

// A runningCluster is children that are the nodes of one cluster.
type runningCluster []*runningNode

// startCluster starts a cluster of n nodes, with the data of each in a folder of its own below that folder, and returns
// when every partition is where it is to be: the first node founds it on ports that are free, and the others join it
// there. More flags may be given, which are those of every node.
func (s *Setup) startCluster(ctx context.Context, folder string, n int, d storage.Durability, more ...string) (c runningCluster, err error) {
	defer func() {
		if err != nil {
			c.children().stop()
		}
	}()
	s.say("starting a cluster of %d nodes", n)
	for i := range n {
		name := fmt.Sprintf("node-%d", i+1)
		flags := append([]string{"--node-name", name}, more...)
		if i > 0 {
			flags = append(flags, "--join", c[0].gossip)
		}
		node, err := s.startNode(ctx, filepath.Join(folder, name), d, flags...)
		if err != nil {
			return c, err
		}
		c = append(c, node)
	}
	return c, c.settle(ctx)
}

// startNodes starts a node that is alone, or a cluster of more.
func (s *Setup) startNodes(ctx context.Context, folder string, nodes int, d storage.Durability, more ...string) (runningCluster, error) {
	if nodes > 1 {
		return s.startCluster(ctx, folder, nodes, d, more...)
	}
	n, err := s.startNode(ctx, filepath.Join(folder, "node"), d, more...)
	if err != nil {
		return nil, err
	}
	return runningCluster{n}, nil
}

// children are the processes of the nodes.
func (c runningCluster) children() children {
	var all children
	for _, n := range c {
		all = append(all, n.child)
	}
	return all
}

// servers are the gRPC addresses of the nodes.
func (c runningCluster) servers() []string {
	var all []string
	for _, n := range c {
		all = append(all, n.grpc)
	}
	return all
}

// settle returns when every partition has all its replicas and every node is ready.
func (c runningCluster) settle(ctx context.Context) (err error) {
	asked, err := client.New(client.Config{Servers: c.servers()[:1]})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, asked.Close()) }()
	within, cancel := context.WithTimeout(ctx, settledWithin)
	defer cancel()
	for {
		why := c.unsettled(within, asked)
		if why == nil {
			return nil
		}
		if err := c.children().alive(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		if within.Err() != nil {
			return fmt.Errorf("the cluster is not complete after %v: %w", settledWithin, why)
		}
		pause(within, lookEvery)
	}
}

// unsettled says what is still to come; nil when nothing is.
func (c runningCluster) unsettled(ctx context.Context, asked *client.Client) error {
	text, err := asked.Status(ctx)
	if err != nil {
		return err
	}
	var status cluster.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Errorf("the status of the cluster: %w", err)
	}
	if err := incomplete(&status, len(c)); err != nil {
		return err
	}
	for _, n := range c {
		if err := n.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// incomplete says what a cluster lacks that is to have n nodes; nil when it is as it will stay.
func incomplete(s *cluster.Status, n int) error {
	kept, wanted := 0, s.Partitions*min(n, replicas)
	for _, node := range s.Nodes {
		kept += node.Replica
	}
	switch {
	case len(s.Nodes) != n:
		return fmt.Errorf("it has %d nodes of %d", len(s.Nodes), n)
	case s.Moves.Left > 0 || s.Moves.UnderWay > 0 || len(s.Moves.Phases) > 0:
		return fmt.Errorf("%d partitions are to be moved, %d are between two epochs, phases %v",
			s.Moves.Left, s.Moves.UnderWay, s.Moves.Phases)
	case kept != wanted || wanted == 0:
		return fmt.Errorf("its nodes have %d replicas of %d", kept, wanted)
	}
	return nil
}

// ready asks a node once whether it is ready; nil if it is.
func (n *runningNode) ready(ctx context.Context) error {
	r, err := n.get(ctx, "/readyz")
	if err != nil {
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s", n.name, r.Status)
	}
	return nil
}
