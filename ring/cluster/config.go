package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/ring/level"
)

// Peers is what a cluster needs of its other nodes. Each address is the gRPC address of one, with its id before it, as
// [ring.NodeID.At] puts it, where another node must not be taken for it. All wait no longer than ctx.
type Peers interface {
	// Call has message answered by [Cluster.Handle] of the node there. An error means that the node has not answered.
	Call(ctx context.Context, address string, message []byte) ([]byte, error)
	// Seal makes the node refuse an epoch of a partition, durably. It says whether the node has a floor there.
	Seal(ctx context.Context, address string, p ring.Partition, epoch uint64) (floored bool, err error)
	// Copy makes the node fetch a partition's registers from the nodes at sources, ahead of Install.
	Copy(ctx context.Context, address string, p ring.Partition, sources []string) error
	// Install makes the node complete its registers for an epoch: enough of the sources are members that are sealed in the
	// epoch before.
	Install(ctx context.Context, address string, p ring.Partition, epoch uint64, enough int, sources []string) error
}

// Config says what a node brings into a cluster. Fields are required unless a zero value is mentioned.
type Config struct {
	// Dir is where the cluster's files are: raft's log, and what this node has promised. It is made if it is missing.
	Dir string
	// FS is the file system that Dir is on, and OpenRaft opens what keeps raft's log and snapshots in an existing directory.
	// Nil: the operating system's, and raft's own files. Only tests set them: those of cmd/node run whole nodes on disks that
	// fail, and so need both from outside this package.
	FS       vfs.FS
	OpenRaft func(dir string) (consensus.RaftStore, error)
	// ID is the identity of the node's disk. An empty disk has a new one.
	ID ring.NodeID
	// Name is the node's name for people, unique in the cluster. At most 63 bytes.
	Name string
	// Zone is where the node stands; replicas are spread over zones. Empty: nowhere in particular.
	Zone string
	// GRPC and HTTP are the addresses, host:port, at which the others, and clients, reach the node. HTTP may be empty.
	GRPC, HTTP string
	// BindGossip and BindRaft are the addresses, host:port, to listen on; port 0 is any that is free.
	BindGossip, BindRaft string
	// AdvertiseHost is the host at which the others reach both. Empty: the host that is bound, or, for gossip bound to
	// every address, this machine's private one.
	AdvertiseHost string
	// Join are gossip addresses, host:port, of nodes; this node's own may be among them. Empty: none.
	Join []string
	// Expect is how many empty nodes found a cluster together: 1, 3 or 5. 0: this node founds one alone if Join is empty,
	// and else only joins. It counts as long as the disk belongs to no cluster.
	Expect int
	// Key is the cluster key. Nil: traffic between the nodes is neither encrypted nor authenticated.
	Key *key.Key
	// Partitions and Replicas are those of a cluster that this node founds. 0: 271, and 3. Nodes with another number of
	// partitions than the cluster's are kept out.
	Partitions, Replicas int
	// Limits is the limits document of a cluster that this node founds. Nil: an empty one.
	Limits []byte
	// Holds says that the disk has registers. If it belongs to no cluster, it was a node alone before there were
	// clusters, and can only found one alone.
	Holds bool
	// Mark is the disk's mark in this life: it was raised, durably, before this. MarkBefore is what it was before that;
	// zero on a new disk. Each Run needs a mark that was raised anew.
	Mark, MarkBefore agreed.Mark
	// Confirm is called, and has to be durable when it returns, once the disk has turned out to be no old copy, and before
	// any other node is told of Mark: from then on the disk must have Mark. It is called once in each Run that gets so
	// far. Nil: it is not called.
	Confirm func(ctx context.Context) error
	// NewMarks tells later marks, each once it is durable. Only the newest matters: a sender need not wait. Nil: none.
	NewMarks <-chan agreed.Mark
	// Peers reaches the other nodes.
	Peers Peers
	// Now is the node clock, in nanoseconds; Advance puts it forward. Any goroutine may call them.
	Now     func() int64
	Advance func(by int64)
	// Epochs are the highest epochs of the partitions, by their numbers, that this node's registers know of: a forced
	// recovery goes above them. Nil: no higher ones than were agreed.
	Epochs func() []uint64
	// End makes this node's registers accept nothing any more, for good, until a recovered epoch begins. It is called before
	// this node's raft log is given up for a forced recovery. Nil: there are none.
	End func(ctx context.Context) error
	// Refuses says why this node decides nothing and takes no reservations now; empty if it does. Every ping calls it, so it must
	// be cheap. Nil: it always decides.
	Refuses func() string
	// Stalled says why this node takes no reservations now though it does decide, such as that its disk hangs; empty if it takes
	// them. Every ping calls it, so it must be cheap. Nil: it always takes them.
	Stalled func() string
	// OnDeciding is called when the set of keys that some node can decide has changed, as this node sees it. Nil: it is not called.
	OnDeciding func(ring.Deciding)
	// Speaks names the protocol of an address that does not speak gossip, such as gRPC; empty if it is unknown. It is
	// called once for an address of Join at which no node answers. Nil: it is not known.
	Speaks func(ctx context.Context, address string) string
	// Check says what is wrong with a limits document, or which level of the cluster it takes. Nil disables the check.
	Check func(limits []byte) (level int, err error)
	// AdoptLevel makes the disk one of a cluster at that level, one of Levels: State shows none that is not adopted. Nil: there is nothing to do.
	AdoptLevel func(level int) error
	// Reaches says as shorter which limits reach less far ahead with another document in the place of a state's, its overrides included, and how far
	// that was, in nanoseconds; as longer the limits of which some override reaches further than it is noted with, and how far one does
	// at most. Nil: none do.
	Reaches func(s *agreed.State, limits []byte) (shorter, longer map[string]int64)
	// Reach is how far ahead an override lets its limit be reserved, in nanoseconds. Nil: it does not.
	Reach func(s *agreed.State, o agreed.Override) int64
	// Used says how long ago each limit decided a check on this node, of those that did so lately. Nil: none did.
	Used func() map[string]time.Duration
	// Tell answers what the program of another member asks by [Cluster.AskOthers]. Nil: this node knows no answers.
	Tell func(ctx context.Context, question json.RawMessage) (json.RawMessage, error)
	// GossipBounds and RaftBounds bound what strangers can make the two listeners hold. Their Name, Metrics and Logger are
	// set here. Zero values: no bound but those of time and of single messages.
	GossipBounds, RaftBounds bound.Config
	// Listeners counts what the two listeners refuse. Nil: it is not counted.
	Listeners *bound.Metrics
	// Levels are those that this node knows. Zero: those of this release, level.Known.
	Levels level.Range
	// Release is which release this node is, for operators. Empty: it is not told.
	Release string
	// Logger takes the log. Nil: nothing is logged.
	Logger *slog.Logger
	// Metrics is where the metrics of this package are registered. Nil: nowhere.
	Metrics prometheus.Registerer

	limitsLevel int // that Limits take, as Check says
	tuning      tuning
}

// tuning is set by tests only.
type tuning struct {
	gossip   func(*memberlist.Config)
	rarely   time.Duration      // see [gossip.Config]
	step     func(string) error // called before and after each durable step of founding; an error ends the node there
	patience time.Duration      // how long a refusal that may be temporary is retried
}

// check fills in defaults and validates the rest.
func (c *Config) check() error {
	if c.Partitions == 0 {
		c.Partitions = ring.DefaultPartitions
	}
	if c.Replicas == 0 {
		c.Replicas = 3
	}
	if c.Levels == (level.Range{}) {
		c.Levels = level.Known()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for name, b := range map[string]*bound.Config{"gossip": &c.GossipBounds, "raft": &c.RaftBounds} {
		b.Name, b.Metrics, b.Logger = name, c.Listeners, c.Logger
	}
	// A message of raft is followed by its answer; strangers get this far only without a key.
	c.RaftBounds.Exchanges = true
	if c.tuning.step == nil {
		c.tuning.step = func(string) error { return nil }
	}
	if c.tuning.patience == 0 {
		c.tuning.patience = 15 * time.Second
	}
	switch {
	case c.Dir == "":
		return fmt.Errorf("%w: Dir, the directory for the cluster's files, is missing", agreed.ErrInvalid)
	case c.ID == ring.NodeID{}:
		return fmt.Errorf("%w: ID, the id of this node's disk, is missing", agreed.ErrInvalid)
	case c.Peers == nil || c.Now == nil || c.Advance == nil:
		return fmt.Errorf("%w: Peers, Now or Advance is missing", agreed.ErrInvalid)
	case c.Name == "" || len(c.Name) > 63 || !utf8.ValidString(c.Name):
		return fmt.Errorf("%w: the node's name (--node-name) is %q; use 1 to 63 bytes of UTF-8", agreed.ErrInvalid, c.Name)
	case c.Mark.Compare(c.MarkBefore) <= 0:
		return fmt.Errorf("%w: the disk's mark (%s) was not raised at this start: it was %s before", agreed.ErrInvalid, c.Mark, c.MarkBefore)
	case c.Partitions < 1 || c.Partitions > agreed.MaxPartitions:
		return fmt.Errorf("%w: %d partitions; a cluster has 1 to %d", agreed.ErrInvalid, c.Partitions, agreed.MaxPartitions)
	case !agreed.ValidReplicas(c.Replicas):
		return fmt.Errorf("%w: %d replicas; use 1, 3 or 5", agreed.ErrInvalid, c.Replicas)
	case !slices.Contains([]int{0, 1, 3, 5}, c.Expect):
		return fmt.Errorf("%w: --expect %d; a cluster is founded by 1, 3 or 5 nodes, and more join it afterwards", agreed.ErrInvalid, c.Expect)
	}
	return c.checkAddresses()
}

func (c *Config) checkAddresses() error {
	if c.GRPC == "" {
		return fmt.Errorf("%w: no address is known at which other nodes reach this node's gRPC port (--advertise)", agreed.ErrInvalid)
	}
	for flag, address := range map[string]string{"--listen-gossip": c.BindGossip, "--listen-raft": c.BindRaft} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("%w: %s is %q, not host:port: %w", agreed.ErrInvalid, flag, address, err)
		}
	}
	for _, address := range c.Join {
		if host, _, err := net.SplitHostPort(address); err != nil || host == "" {
			return fmt.Errorf("%w: --join has %q; give gossip addresses, host:port, of nodes of the cluster", agreed.ErrInvalid, address)
		}
	}
	if c.Check != nil && c.Limits != nil {
		var err error
		if c.limitsLevel, err = c.Check(c.Limits); err != nil {
			return fmt.Errorf("%w: the initial limits of a new cluster (--limits): %w", agreed.ErrInvalid, err)
		}
	}
	return nil
}
