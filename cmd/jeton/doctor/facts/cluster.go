package facts

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/cluster/status"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

// ClusterConfig says how a cluster is asked.
type ClusterConfig struct {
	Client *client.Client
	Server string // that the client asks
	// Within is how long each question may take; where nodes try to reach one another, three seconds more.
	Within time.Duration
	// Gateways are addresses, HOST:PORT, such as those of gateways, that are tried, and whose certificates are looked at.
	Gateways []string
}

// A Cluster is what was found out about a cluster.
type Cluster struct {
	Server string `json:"server"`
	// View is what the nodes did in a second or so, with problems; Nodes is what each has counted since it started.
	View  activity.View   `json:"view"`
	Nodes []activity.Node `json:"-"`

	Probes           []status.Probed          `json:"probes,omitempty"`
	ProbesUnknown    string                   `json:"probes_unknown,omitempty"`
	Limits           []string                 `json:"limits"` // names
	LimitsUnknown    string                   `json:"limits_unknown,omitempty"`
	Overrides        []cluster.OverrideStatus `json:"overrides,omitempty"`
	OverridesUnknown string                   `json:"overrides_unknown,omitempty"`
	Reached          []Reached                `json:"reached,omitempty"`  // the nodes, from here
	Gateways         []Reached                `json:"gateways,omitempty"` // that were named
}

// Reached is a try to reach an address from where this program runs.
type Reached struct {
	Node    string     `json:"node,omitempty"`
	Port    string     `json:"port,omitempty"` // grpc or http
	Address string     `json:"address"`
	Error   string     `json:"error,omitempty"` // empty: something accepts connections there
	Ends    *time.Time `json:"ends,omitempty"`  // of its certificate; nil: it shows none
}

const (
	// lookApart is how long lies between two looks: a node has a new one every half second.
	lookApart = time.Second
	// probeWithin is how much longer nodes take that try to reach one another.
	probeWithin = 4 * time.Second
	// reachWithin is how long an address may take to accept a connection and show a certificate.
	reachWithin = 1500 * time.Millisecond
	// mostAtOnce is how many addresses are tried at the same time.
	mostAtOnce = 32
)

// OfCluster asks a cluster. The error is that of the first question: then nothing is known.
func OfCluster(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	before, err := cfg.look(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Server: cfg.Server}
	pause := time.After(lookApart)
	var tasks sync.WaitGroup
	tasks.Go(func() { c.Limits, c.LimitsUnknown = cfg.limits(ctx) })
	if before.Cluster != nil {
		tasks.Go(func() {
			c.ProbesUnknown = cfg.ask(ctx, cfg.Within+probeWithin, &c.Probes, cfg.Client.Probe)
		})
		tasks.Go(func() {
			c.OverridesUnknown = cfg.ask(ctx, cfg.Within, &c.Overrides, func(ctx context.Context) ([]byte, error) { return cfg.Client.Overrides(ctx, "") })
		})
		tasks.Go(func() { c.Reached = reach(ctx, addressesOf(before.Cluster)) })
	}
	tasks.Go(func() { c.Gateways = reach(ctx, named(cfg.Gateways)) })
	var after activity.Look
	select {
	case <-pause:
		after, err = cfg.look(ctx)
	case <-ctx.Done():
		err = ctx.Err()
	}
	tasks.Wait()
	if err != nil {
		return nil, err
	}
	c.View, c.Nodes = activity.Compare(before, after), after.Nodes
	return c, nil
}

// look is what all nodes are doing.
func (cfg *ClusterConfig) look(ctx context.Context) (l activity.Look, err error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.Within)
	defer cancel()
	text, err := cfg.Client.Activity(ctx)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("the node speaks another version of jeton: %w", err)
	}
	return l, nil
}

// ask asks for something in JSON, and says why it is not known.
func (cfg *ClusterConfig) ask(ctx context.Context, within time.Duration, into any, question func(context.Context) ([]byte, error)) (unknown string) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	text, err := question(ctx)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// limits are the names of the stored limits.
func (cfg *ClusterConfig) limits(ctx context.Context) (names []string, unknown string) {
	ctx, cancel := context.WithTimeout(ctx, cfg.Within)
	defer cancel()
	text, _, err := cfg.Client.LimitsText(ctx)
	var doc *limit.Document
	if err == nil {
		doc, err = limit.ReadDocument([]byte(text))
	}
	if err != nil {
		return nil, err.Error()
	}
	for _, rule := range doc.Rules() {
		names = append(names, rule.Name)
	}
	slices.Sort(names)
	return names, ""
}

// addressesOf are those at which clients reach the nodes.
func addressesOf(s *status.Status) (all []Reached) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		all = append(all, Reached{Node: n.Name, Port: "grpc", Address: n.GRPC})
		if n.HTTP != "" {
			all = append(all, Reached{Node: n.Name, Port: "http", Address: n.HTTP})
		}
	}
	return all
}

func named(addresses []string) (all []Reached) {
	for _, a := range addresses {
		all = append(all, Reached{Address: a})
	}
	return all
}

// reach tries addresses, and sees which certificates are shown there. Nothing is asked, and no certificate is trusted: what counts is when it ends.
func reach(ctx context.Context, all []Reached) []Reached {
	var tasks sync.WaitGroup
	free := make(chan struct{}, mostAtOnce)
	for i := range all {
		free <- struct{}{}
		tasks.Go(func() {
			defer func() { <-free }()
			all[i].try(ctx)
		})
	}
	tasks.Wait()
	return all
}

func (r *Reached) try(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.Address)
	if err != nil {
		r.Error = err.Error()
		return
	}
	defer conn.Close() //nolint:errcheck // nothing was said that has to arrive
	if r.Port == "grpc" {
		return
	}
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nothing is sent: the certificate is looked at
	if secure.HandshakeContext(ctx) != nil {
		return // it speaks no TLS, or wants a certificate before it shows its own
	}
	if shown := secure.ConnectionState().PeerCertificates; len(shown) > 0 {
		end := shown[0].NotAfter
		for _, c := range shown {
			if c.NotAfter.Before(end) {
				end = c.NotAfter
			}
		}
		r.Ends = &end
	}
}
