package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/cluster/joining"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/storage"
)

// Config says what a node is. Only Data is required.
type Config struct {
	// Data is the directory that keeps the registers; it is made if need be.
	Data string
	// Durability says when a decision counts as kept; empty means storage.Fsync.
	Durability storage.Durability
	// Limits is the path of the limits document. In a cluster it is what a new cluster begins with. Empty means no stored
	// limits.
	Limits string
	// InlineFill bounds what requests may define: how long an empty bucket of such a limit takes to fill, up to about 73 years.
	// 0 means 366 days. InlineRegisters bounds how many registers of such limits the node keeps; 0 means a million.
	InlineFill      time.Duration
	InlineRegisters int64
	// ShowHotKeys has metrics name hot keys as they are; without it, by hashes that /debug/actors has too.
	ShowHotKeys bool
	// ListenGRPC and ListenHTTP are addresses such as 127.0.0.1:7700; empty means not to listen.
	ListenGRPC, ListenHTTP string
	// Doors are the names of protocols of other systems that the gRPC port answers besides: see [doors.Names]. RLSConfig is the directory with the limits of the door rls, and
	// KuadrantConfig the file with those of the door kuadrant, or a directory with several.
	Doors                     []string
	RLSConfig, KuadrantConfig string
	// RLSHeaders has answers of rls carry headers with the limit, what remains and when it is full; RLSMetadata has them carry dynamic metadata.
	RLSHeaders, RLSMetadata bool
	// ListenRedis is the address of the door for Redis' protocol; empty means none. RedisTokenFile names a file with tokens, one a line, of which clients show one by AUTH; empty means
	// that they need none, and then only clients on this machine are taken, unless Insecure.
	ListenRedis, RedisTokenFile string
	// ListenGossip and ListenRaft are where the nodes of a cluster find each other and agree. Empty means that this node is
	// alone, now and in this life; with them, ListenGRPC is required.
	ListenGossip, ListenRaft string
	// Advertise is the host at which other nodes and clients reach this one; empty means the one it listens on.
	Advertise string
	// Join are gossip addresses of other nodes, or of all; its own may be among them.
	Join []string
	// Expect is how many nodes found a cluster together, 3 or 5, when there is none yet. 0 or 1 without Join is a cluster of
	// one, and 0 with Join only joins.
	Expect int
	// Replicas is how many nodes are to keep each register in a cluster that is founded, 3 or 5; 0 means 3. While there are
	// fewer than three nodes, one does.
	Replicas int
	// Zone is where the node stands: replicas are spread over zones.
	Zone string
	// ClusterKeyFile names a file with the key that nodes and operators prove to each other that they have; empty means
	// none.
	ClusterKeyFile string
	// TLSCert, TLSKey and TLSCA name PEM files: the certificate that callers are shown, its key, and the authorities that
	// callers' own certificates must come from. With them callers speak TLS over gRPC, and HTTP is HTTPS, which wants no
	// certificate of callers. All three or none; a node that is not alone needs ClusterKeyFile with them. The files are read
	// again when they change.
	TLSCert, TLSKey, TLSCA string
	// AdminTokenFile names a file with tokens, one a line, that count over HTTP as the cluster key's own does; empty means
	// none. It is read again when it changes.
	AdminTokenFile string
	// Insecure lets a node without a key listen beyond loopback, and takes files with keys and tokens that others on the
	// machine may read.
	Insecure bool
	// ListenMemory is how many bytes each listener holds at most for callers that have proved nothing: messages that are not
	// complete, calls under way, and answers that are not read. Callers with a certificate have as much to themselves. 1 MiB
	// or more; 0 means 64 MiB.
	ListenMemory int64
	// Edges is how many programs like this one share limits that are local and divided, where the program around the node asks it directly; 0 means 1.
	Edges int
	// RepeatDenials is how long the program around the node repeats a denial of a limit that is leased, without asking its owner: up to a second, which 0 stands for; below 0, not at
	// all. A gateway in that program repeats denials itself.
	RepeatDenials time.Duration
	// Name is the node's name for people to read, its own within the cluster; empty means the host name.
	Name string
	// Restored says that Data is an older copy of itself: every bucket counts as emptied when the node starts.
	Restored bool
	// Memory is how many bytes the process is to stay below, which is for who runs it to see to: the node takes shares of it
	// for its registers, its awake keys and its queues, and gives up what makes it stricter rather than exceed these. 0 means
	// that memory is plenty.
	Memory int64
	// FS is the file system that Data is on, and OpenRaft opens what keeps raft's log and snapshots in a directory that is
	// there. Both are for tests; nil means the operating system's, and raft's own files.
	FS       vfs.FS
	OpenRaft func(dir string) (consensus.RaftStore, error)
	// Logger receives what happens; nil means slog.Default.
	Logger *slog.Logger
	// OTLPEndpoint is where a collector takes the node's spans, by OTLP over gRPC, such as 127.0.0.1:4317; empty sends none. OTLPInsecure speaks
	// plain text with it, in place of TLS. TraceSample is which share of the traces that would begin at this node is sampled, 0 to 1: those that
	// callers have begun are, or are not, as they say.
	OTLPEndpoint string
	OTLPInsecure bool
	TraceSample  float64
	// Tracer takes the place of OTLPEndpoint in a program that has a tracer provider of its own. It makes a span of each check that the node is asked for, of each that it asks another node for, and of each write at this node's registers
	// that a traced check waits for; nil makes none. There is no key in them. In a trace that is not sampled, a check costs nothing more.
	Tracer trace.TracerProvider

	partitions int // of the cluster; 0 means ring.DefaultPartitions, and tests have fewer to move
}

// MinListenMemory is the smallest Config.ListenMemory.
const MinListenMemory = 1 << 20

// Check says what is wrong with the configuration, as far as that can be told without opening what it names.
func (c Config) Check() error { return c.setDefaults() }

func (c *Config) setDefaults() error {
	if c.Memory < 0 {
		return fmt.Errorf("memory: %d is negative: give a number of bytes, or 0 for no bound", c.Memory)
	}
	if err := c.checkTracing(); err != nil {
		return err
	}
	if c.Edges < 0 {
		return fmt.Errorf("edges: %d is negative: give how many programs share limits that are local and divided", c.Edges)
	}
	if c.Data == "" {
		return errors.New("data: no directory for the registers is given")
	}
	if c.Durability != "" && c.Durability != storage.Fsync && c.Durability != storage.Memory {
		return fmt.Errorf("durability: unknown value %q: use fsync or memory", c.Durability)
	}
	if c.InlineFill < 0 || c.InlineFill > limit.MaxFill {
		return fmt.Errorf("inline-fill: %v is out of range: give up to %dh, such as 8784h", c.InlineFill, int64(limit.MaxFill.Hours()))
	}
	if c.InlineRegisters < 0 {
		return fmt.Errorf("inline-registers: %d is out of range: give 1 or more", c.InlineRegisters)
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "node"
		}
		c.Name = host
	}
	if c.Replicas == 0 {
		c.Replicas = 3
	}
	if c.partitions == 0 {
		c.partitions = ring.DefaultPartitions
	}
	if c.ListenMemory == 0 {
		c.ListenMemory = DefaultListenMemory
	}
	if c.ListenMemory < MinListenMemory {
		return fmt.Errorf("listen-memory: %d bytes are too few for one message: give 1048576 or more", c.ListenMemory)
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Doors = slices.Clone(c.Doors)
	if err := c.applyRejoin(); err != nil {
		return err
	}
	return errors.Join(c.checkCluster(), c.checkTLS(), c.checkDoors(), c.checkAddresses())
}

// checkAddresses refuses a host and ports that listeners cannot have. Nobody asks for the host of a node that is alone.
func (c *Config) checkAddresses() error {
	if !c.alone() {
		if err := c.checkAdvertise(); err != nil {
			return err
		}
	}
	return c.checkPorts()
}

// checkDoors refuses what is for a door that is not open, and a door that cannot be opened.
func (c *Config) checkDoors() error {
	for i, name := range c.Doors {
		c.Doors[i] = strings.TrimSpace(name)
	}
	switch {
	case slices.Contains(c.Doors, "redis"):
		return errors.New("doors: redis is a port of its own: give it an address with --listen-redis, such as 127.0.0.1:7706")
	case (c.RLSConfig != "" || c.RLSHeaders || c.RLSMetadata) && !slices.Contains(c.Doors, "rls"):
		return errors.New("rls-config, rls-headers, rls-metadata: are for the door rls, which is not open: give --doors rls too")
	case c.KuadrantConfig != "" && !slices.Contains(c.Doors, "kuadrant"):
		return errors.New("kuadrant-config: is for the door kuadrant, which is not open: give --doors kuadrant too")
	case c.RedisTokenFile != "" && c.ListenRedis == "":
		return errors.New("redis-token-file: is for clients that speak Redis' protocol, and nothing listens for them: give --listen-redis too")
	}
	if err := doors.Check(c.Doors, doors.Config{RLSConfig: c.RLSConfig, KuadrantConfig: c.KuadrantConfig}); err != nil {
		return fmt.Errorf("doors: %w", err)
	}
	return nil
}

// tlsFiles are what callers are shown, and known by.
func (c *Config) tlsFiles() credentials.TLSFiles {
	return credentials.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, CA: c.TLSCA, Insecure: c.Insecure}
}

// checkTLS requires a cluster key where callers speak TLS: a certificate does not prove a node.
func (c *Config) checkTLS() error {
	given, err := c.tlsFiles().Given()
	if err == nil && given && !c.alone() && c.ClusterKeyFile == "" {
		err = errors.New("tls-cert: is for callers; the nodes of a cluster authenticate each other with --cluster-key-file: give that too, or " +
			"--listen-gossip= --listen-raft= for a standalone node")
	}
	return err
}

func (c *Config) checkCluster() error {
	switch {
	case (c.ListenGossip == "") != (c.ListenRaft == ""):
		return errors.New("listen-gossip, listen-raft: give both, or neither for a standalone node")
	case c.ListenGossip == "" && (len(c.Join) > 0 || c.Expect > 1):
		return errors.New("join, expect: a node of a cluster needs listen-gossip and listen-raft")
	case c.ListenGossip != "" && c.ListenGRPC == "":
		return errors.New("listen-grpc: the nodes of a cluster need it to reach each other")
	case c.Expect < 0 || c.Expect > 5 || c.Expect == 2 || c.Expect == 4:
		return fmt.Errorf("expect: a cluster is founded by 1, 3 or 5 nodes, not by %d; others may join it later", c.Expect)
	case c.Expect > 1 && len(c.Join) == 0:
		return fmt.Errorf("expect: %d nodes can find each other only by --join: name their gossip addresses", c.Expect)
	case c.Expect == 1 && len(c.Join) > 0:
		return errors.New("expect: 1 founds a cluster of one, and join names other nodes: leave out one of the two")
	case c.Replicas != 3 && c.Replicas != 5:
		return fmt.Errorf("replicas: %d is out of range: use 3 or 5", c.Replicas)
	}
	return c.checkJoin()
}

// checkJoin refuses what is no address of a node. Whether a host has an address now is not asked: it may get one later.
func (c *Config) checkJoin() error {
	c.Join = slices.Clone(c.Join)
	for i, address := range c.Join {
		address = strings.TrimSpace(address)
		c.Join[i] = address
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" {
			return fmt.Errorf("join: %q is not host:port: give gossip addresses of nodes, such as 10.0.0.1:7701", address)
		}
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return fmt.Errorf("join: %q: %q is no port, such as 7701: 1 is the lowest, and 65535 the highest", address, port)
		}
	}
	return nil
}

// alone says whether the node is one that no other ever joins.
func (c *Config) alone() bool { return c.ListenGossip == "" }

// isMember says whether the disk tells that the node belongs to a cluster, is to go back to its own, or founds one with limits that it has written down.
func (c *Config) isMember() bool {
	if c.alone() {
		return false
	}
	if _, err := c.FS.Stat(c.FS.PathJoin(c.Data, rejoinFile)); err == nil {
		return true
	}
	_, id, err := joining.Look(folder.Of(c.FS, clusterDir(c.Data)))
	return err == nil && id != ""
}

// checkAlone refuses a node that is alone on the data of a member, which would decide for itself what its cluster decides together.
func (c *Config) checkAlone() error {
	if !c.alone() {
		return nil
	}
	if _, err := c.FS.Stat(clusterDir(c.Data)); err == nil {
		return fmt.Errorf("data: %s belongs to a node of a cluster: give --listen-gossip and --listen-raft, or another directory", c.Data)
	}
	return nil
}
