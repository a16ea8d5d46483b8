// Package nemesis does to a cluster of real processes, under load, whatever may happen to one: it kills, freezes and
// restarts nodes, takes their disks or gives them back old copies, fills disks up, puts clocks wrong, cuts the network and makes
// it slow, adds and removes nodes, loses a majority of them, floods them with invented keys, and changes limits. Gateways, which decide
// by leases, are killed, frozen and cut off too, and have wrong clocks. All of it is drawn from a seed before it begins. Every call is written to a history;
// in the end everything is healed, every key is probed, all checkers of the package history judge, and a report says what
// was done and what came of it.
//
//	Draw ─▶ schedule ─▶ play ─▶ Stage: hosts, network ─┐
//	                                                   ├─▶ ledger ─▶ history file ─▶ checkers ─▶ Report
//	                   traffic: callers, streams ──────┘
//
// The same seed gives the same faults, on the same nodes, at the same times. What the processes make of it differs each time.
//
// The package has some 4,000 lines: more than a third of them are the kinds of faults, a file each.
//
// Start with [Run].
package nemesis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/client"
)

// Callers that use the client, and those that speak HTTP.
const (
	rpcCallers  = 4
	httpCallers = 1
)

// lastCalm is how long the load goes on when everything has been healed: longer than most buckets take to fill.
const lastCalm = 8 * time.Second

// Run plays a schedule and returns the report of it. What is wrong with the cluster stands in the report; an error, or the
// end of the test, means that there could be no run.
func Run(t *testing.T, cfg Config) (*Report, error) {
	t.Helper()
	entries, err := Draw(cfg.Setting)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(cfg.Folder, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // a second time is no error that matters
	s := &Stage{t: t, setting: cfg.Setting, folder: t.TempDir(), lab: cfg.Lab, tasks: make(chan func()), began: time.Now()}
	r := newReport(cfg, entries)
	out := history.NewWriter(file)
	if err := errors.Join(s.open(cfg, out), writeLimits(out, founding())); err != nil {
		return nil, err
	}
	s.say("seed %d: %d faults in %v; %s", cfg.Seed, len(entries), cfg.Time, s.traffic)
	s.began = time.Now()
	s.traffic.start()
	r.Played, r.Left = s.attend(entries)
	s.say("all faults are over")
	healing := time.Now()
	if err := s.settled(context.Background(), s.nodeNames()...); err != nil {
		s.problem("after healing: %v", err)
	}
	s.say("settled after %.1f s", time.Since(healing).Seconds())
	pause(context.Background(), lastCalm) //nolint:errcheck // it cannot be interrupted
	s.traffic.end()
	r.Lasted = time.Since(s.began)
	err = errors.Join(s.faults(out, r.Played), out.WriteFault(history.Fault{
		Start: time.Now().UnixNano(), End: time.Now().UnixNano(), What: "healed",
	}))
	if err != nil {
		return nil, err
	}
	r.Asked, r.Stuck = s.probe()
	s.say("%d keys probed, %d stuck", r.Asked, len(r.Stuck))
	r.Looked, r.Held = s.heldAtTheEnd()
	s.say("%d buckets looked at where holds are taken, of which %d hold something", r.Looked, len(r.Held))
	s.close()
	if err := errors.Join(s.traffic.ledger.err, out.Flush(), file.Close()); err != nil {
		return nil, err
	}
	if err := r.judge(s, file.Name()); err != nil {
		return nil, err
	}
	return r, nil
}

// open starts the cluster, and makes the callers.
func (s *Stage) open(cfg Config, out *history.Writer) error {
	for _, folder := range []string{"disks", "clocks", "copies"} {
		if err := os.Mkdir(filepath.Join(s.folder, folder), 0o700); err != nil {
			return err
		}
	}
	doors, err := s.doors()
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"--replicas", fmt.Sprint(cfg.Replicas)}, doors, cfg.Args)
	if cfg.Lab == nil {
		s.cluster = process.NewCluster(s.t, cfg.Binary, cfg.Nodes, founding(), args...)
	} else {
		s.cluster = process.NewClusterIn(s.t, cfg.Lab, cfg.Binary, cfg.Nodes, founding(), args...)
	}
	s.cluster.Logs = cfg.Folder
	s.cluster.Prepare = func(name string, cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "JETON_FAULT_CLOCK="+filepath.Join(s.folder, "clocks", name))
		if _, forgetful := s.forgetful.Load(name); forgetful {
			cmd.Args = append(cmd.Args, "--durability", "memory")
		}
	}
	var founders []*host
	for _, m := range s.cluster.Members {
		h, err := s.adopt(m)
		if err != nil {
			return err
		}
		founders = append(founders, h)
	}
	s.http = &http.Client{Transport: transport(nil)}
	if s.secure, err = s.identify(cfg); err != nil {
		return err
	}
	if err := s.back(s.t.Context(), founders...); err != nil {
		return err
	}
	if err := s.settled(s.t.Context(), s.nodeNames()...); err != nil {
		return err
	}
	return s.employ(cfg, out)
}

// identify is what operators prove with who they are, where the cluster has a key; nil where it has none.
func (s *Stage) identify(cfg Config) (*tls.Config, error) {
	if cfg.Lab == nil {
		return nil, nil //nolint:nilnil // a client takes nil for plain text
	}
	k, err := key.Read(s.cluster.KeyFile(), false)
	if err != nil {
		return nil, err
	}
	s.token = k.Token()
	return k.TLS(), nil
}

// employ makes the operator and the callers. In a network of their own each of these is a host.
func (s *Stage) employ(cfg Config, out *history.Writer) error {
	servers := s.cluster.Servers()
	var err error
	if s.admin, err = client.New(client.Config{Servers: servers, TLS: s.secure}); err != nil {
		return err
	}
	tr := &traffic{
		perSecond: cfg.PerSecond, keys: cfg.Keys, operator: s.admin, ledger: newLedger(out), random: rand.New(rand.NewPCG(cfg.Seed, ^uint64(0))),
	}
	s.traffic = tr
	doc, err := limit.ParseDocument([]byte(founding()))
	if err != nil {
		return err
	}
	tr.ledger.excess = newExcess(doc)
	for i := range rpcCallers {
		name := fmt.Sprintf("caller-%d", i+1)
		c := client.Config{Servers: servers, Registerer: prometheus.NewRegistry()}
		if cfg.Lab != nil {
			c.Dial = cfg.Lab.Dial(name)
			s.callerHosts = append(s.callerHosts, name)
		}
		asks, err := client.New(c)
		if err != nil {
			return err
		}
		tr.callers = append(tr.callers, caller{name: name, Checker: asks, rpc: asks, through: "client"})
	}
	var addresses []string
	for _, m := range s.cluster.Members {
		addresses = append(addresses, m.HTTP)
	}
	for i := range httpCallers {
		name := fmt.Sprintf("http-%d", i+1)
		asks := &httpChecker{nodes: addresses, client: &http.Client{Transport: transport(nil)}}
		if cfg.Lab != nil {
			asks.client.Transport = transport(cfg.Lab.Dial(name))
			s.callerHosts = append(s.callerHosts, name)
		}
		s.idle = append(s.idle, asks.client.CloseIdleConnections)
		tr.callers = append(tr.callers, caller{name: name, Checker: asks, through: "http"})
	}
	if err := s.atDoors(cfg); err != nil {
		return err
	}
	return s.gateways(cfg)
}

// attend plays the schedule, reports how the load fares, and changes the network for faults, which run on other goroutines than the
// test's.
func (s *Stage) attend(entries []Entry) (played []*Played, left int) {
	type result struct {
		played []*Played
		left   int
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.played, r.left = s.play(s.t.Context(), entries)
		pause(s.t.Context(), time.Until(s.began.Add(s.setting.Time))) //nolint:errcheck // the test ends
		done <- r
	}()
	beat := time.NewTicker(10 * time.Second)
	defer beat.Stop()
	var before tally
	last := time.Now()
	for {
		select {
		case task := <-s.tasks:
			task()
		case <-beat.C:
			total, _, _ := s.traffic.ledger.sums(func(tallyKey) string { return "" })
			seconds := time.Since(last).Seconds()
			s.say("… %.0f checks/s: %.0f admitted, %.0f denied, %.0f failed; running: %v", float64(total.all()-before.all())/seconds,
				float64(total.Admitted-before.Admitted)/seconds, float64(total.Denied-before.Denied)/seconds,
				float64(total.Failed-before.Failed)/seconds, running(s.members()))
			before, last = total, time.Now()
		case r := <-done:
			return r.played, r.left
		}
	}
}

// faults writes what was played into the history, but for what excuses nothing, and when the machine itself stood still. The traffic must have
// ended.
func (s *Stage) faults(out *history.Writer, played []*Played) error {
	for _, p := range played {
		if p.Kind.Harmless {
			continue
		}
		f := history.Fault{Start: s.began.Add(p.Began).UnixNano(), End: s.began.Add(p.Ended).UnixNano(), What: p.Fault.String()}
		if _, wrong := p.Fault.(wrongClock); wrong {
			f.Held = (heldFor + s.traffic.longestStall).Nanoseconds() // a machine that stands still compares no clocks
		}
		if err := out.WriteFault(f); err != nil {
			return err
		}
	}
	for _, f := range s.traffic.faults {
		if err := out.WriteFault(f); err != nil {
			return err
		}
	}
	return nil
}

// close ends the callers and stops the nodes in good order.
func (s *Stage) close() {
	for _, c := range s.traffic.callers {
		if c.rpc != nil {
			c.rpc.Close() //nolint:errcheck // nothing is asked any more
		}
	}
	s.admin.Close() //nolint:errcheck // nothing is asked any more
	for _, h := range slices.Concat(s.edges, s.members()) {
		if err := h.stop(context.Background()); err != nil {
			s.problem("%v", err)
		}
	}
	s.watches.Wait()
	for _, idle := range append(s.idle, s.http.CloseIdleConnections) {
		idle()
	}
}

// writeLimits writes the limits of a document into a history.
func writeLimits(out *history.Writer, document string) error {
	doc, err := limit.ParseDocument([]byte(document))
	if err != nil {
		return err
	}
	for _, r := range doc.Rules() {
		if r.Consistency == limit.Eventual { // it is measured, not judged
			continue
		}
		for _, st := range streams { // a limit that is asked by a plan is judged by its numbers
			if p, ok := doc.Plan(r.Name, st.plan); ok && st.rules[0].name == r.Name {
				r = p.Rule
			}
		}
		if err := out.WriteLimit(load.Limit(r)); err != nil {
			return err
		}
	}
	return nil
}
