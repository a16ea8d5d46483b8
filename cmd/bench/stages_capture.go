package bench

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
)

// A StageCapture says how the stages of a node are measured: a node is started, put under a load, and profiled for a
// while, in which the checks that it answers are counted. Two builds of jeton are measured in turn, round by round, so
// that what else the machine does meets both.
//
//	│ warm-up │ margin │◀── window: the profile ──▶│ margin │
//	│◀──────────────────── the load ───────────────────────▶│
type StageCapture struct {
	// Setup says how to start the node whose side is After.
	Setup

	// Before is the path of the jeton binary of that side, which must take the same flags; empty means that only the other
	// side is measured.
	Before string
	// Into is the file of the report, which is made, or in which what is measured is replaced. Required.
	Into string
	// Cluster measures a cluster of three nodes in place of one node: what is profiled is the sum of the three. The names of its loads begin
	// with "cluster-".
	Cluster bool
	// Only are the names of the only loads that are measured; empty means all.
	Only []string
	// Rounds is how often each side is measured; 0 means 3.
	Rounds int
	// Window is how long each profile takes, in whole seconds; 0 means 10 seconds.
	Window time.Duration
	// Warmup is how long the load runs before that.
	Warmup time.Duration
	// Profiles is a folder in which the profiles are kept; empty means that they are not.
	Profiles string
}

// mostWindow is the longest window.
const mostWindow = 5 * time.Minute

// margin is how long the load runs before the profile begins, and at least after it has ended.
const margin = time.Second

func (c *StageCapture) check() error {
	c.Rounds = cmp.Or(c.Rounds, 3)
	c.Window = cmp.Or(c.Window, 10*time.Second)
	var unknown []error
	for _, name := range c.Only {
		unknown = append(unknown, oneOf("only", name, StageLoads()...))
	}
	return errors.Join(
		c.Setup.check(),
		when(!isFile(c.Program), "after", "%s is not a jeton binary: make build makes ./jeton", c.Program),
		when(c.Before != "" && !isFile(c.Before), "before", "%s is not a jeton binary", c.Before),
		when(c.Into == "", "into", "name the file of the report, such as docs/speed.json"),
		upTo(100, "rounds", c.Rounds),
		when(c.Window < time.Second || c.Window > mostWindow || c.Window%time.Second != 0,
			"window", "%v is not a number of whole seconds up to %v", c.Window, mostWindow),
		when(c.Warmup < 0, "warmup", "%v is below 0", c.Warmup),
		when(c.Profiles != "" && !isFolder(c.Profiles), "profiles", "%s is not a folder", c.Profiles),
		errors.Join(unknown...),
	)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// CaptureStages measures the loads one after another and keeps each in the report as soon as it is there. The error names
// the flag that is wrong, or says what failed.
func CaptureStages(ctx context.Context, c StageCapture) error {
	if err := c.check(); err != nil {
		return err
	}
	report, err := openStages(c.Into)
	if err != nil {
		return flagError("into", "%w", err)
	}
	for _, l := range stageLoads() {
		if len(c.Only) > 0 && !slices.Contains(c.Only, l.name) {
			continue
		}
		if c.Cluster {
			l.name, l.title = "cluster-"+l.name, l.title+", three nodes"
		}
		costs, err := c.load(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		for side, cost := range costs {
			report.put(l, side, cost)
		}
		if err := report.save(c.Into); err != nil {
			return flagError("into", "%w", err)
		}
	}
	return nil
}

// load measures one load on each side, in turn. They take turns in coming first.
func (c *StageCapture) load(ctx context.Context, l stageLoad) (map[string]*StageCost, error) {
	l.load.Limit = limitFor(false)
	l.load.Warmup, l.load.Duration = c.Warmup, margin+c.Window+margin
	if err := l.load.check(); err != nil {
		return nil, err
	}
	if c.Cluster {
		l.load.Limit = limitOf(&l.load, false)
	}
	programs := map[string]string{After: c.Program}
	order := []string{After}
	if c.Before != "" {
		programs[Before] = c.Before
		order = append(order, Before)
	}
	readings := map[string]*reading{}
	for round := range c.Rounds {
		slices.Reverse(order)
		for _, side := range order {
			c.say("%s, round %d of %d, %s", l.title, round+1, c.Rounds, side)
			r, err := c.capture(ctx, l, programs[side], fmt.Sprintf("%s-%s-%d", l.name, side, round+1))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", side, err)
			}
			if readings[side] == nil {
				readings[side] = &reading{sums: map[Stage]int64{}}
			}
			readings[side].add(r)
		}
	}
	costs := map[string]*StageCost{}
	for side, r := range readings {
		cost := r.cost()
		cost.Revision, cost.Processors, cost.Profiled = revisionOf(programs[side]), runtime.NumCPU(), time.Duration(c.Rounds)*c.Window
		if err := cost.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", side, err)
		}
		costs[side] = cost
	}
	return costs, nil
}

// start starts what is measured: a node of its own, or a cluster. The addresses are those of the nodes' HTTP ports.
func (c *StageCapture) start(ctx context.Context, setup *Setup, folder string, l stageLoad) (s *side, http []string, err error) {
	if !c.Cluster {
		n, err := setup.startNode(ctx, filepath.Join(folder, "node"), l.durability)
		if err != nil {
			return nil, nil, err
		}
		s, err = dialer(dialRaw).over(ctx, "node", children{n.child}, []string{n.grpc}, l.load)
		return s, []string{n.http}, err
	}
	cluster, err := setup.startCluster(ctx, folder, replicas, l.durability)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range cluster {
		http = append(http, n.http)
	}
	s, err = dialer(dialClient).over(ctx, "cluster", cluster.children(), cluster.servers(), l.load)
	return s, http, err
}

// capture measures one load on a node of its own, or on a cluster.
func (c *StageCapture) capture(ctx context.Context, l stageLoad, program, name string) (r reading, err error) {
	setup := c.Setup
	setup.Program = program
	folder, remove, err := setup.folder()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	s, addresses, err := c.start(ctx, &setup, folder, l)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	answers := newTimeline(l.load, time.Now())
	s.service = answers.over(s.service)
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	taken := make([]taking, len(addresses))
	var takers sync.WaitGroup
	for i, address := range addresses {
		takers.Go(func() {
			pause(within, c.Warmup+margin)
			taken[i].text, taken[i].err = takeProfile(within, address, c.Window)
		})
	}
	report, err := s.measure(ctx, l.load)
	if err != nil {
		cancel()
	}
	takers.Wait()
	if err := cmp.Or(err, errors.Join(errorsOf(taken)...)); err != nil {
		return r, err
	}
	if r, err = c.readAll(taken, answers, name); err != nil {
		return r, err
	}
	c.say("  %s ns of processor time for each of %s checks; the kernel counted %s for each under the whole load",
		nanoseconds(r.cost().total()), count(float64(r.checks)), short(report.perCheck(report.ServiceCPU)))
	return r, nil
}

// A taking is a profile, or why there is none.
type taking struct {
	text []byte
	err  error
}

func errorsOf(taken []taking) (errs []error) {
	for _, t := range taken {
		errs = append(errs, t.err)
	}
	return errs
}

// readAll reads the profiles of all nodes, which answered the checks together, and keeps them if that is wanted.
func (c *StageCapture) readAll(taken []taking, answers *timeline, name string) (all reading, err error) {
	for i, t := range taken {
		file := name
		if len(taken) > 1 {
			file = fmt.Sprintf("%s-node-%d", name, i+1)
		}
		if c.Profiles != "" {
			if err := os.WriteFile(filepath.Join(c.Profiles, file+".pb.gz"), t.text, 0o644); err != nil { //nolint:gosec // any user may read it
				return all, flagError("profiles", "%w", err)
			}
		}
		r, err := read(t.text, c.Window, answers)
		if err != nil {
			return all, err
		}
		if i == 0 {
			all = r
			continue
		}
		r.checks = 0 // those of the first one's window are all of them
		all.add(r)
	}
	return all, nil
}

// A reading is the processor time of nodes, and the checks that they answered meanwhile.
type reading struct {
	sums   map[Stage]int64 // nanoseconds
	checks int64
}

// read is what a profile says, which took that long.
func read(text []byte, window time.Duration, answers *timeline) (reading, error) {
	p, err := profile.ParseData(text)
	if err != nil {
		return reading{}, fmt.Errorf("read the node's profile: %w", err)
	}
	sums, err := sumStages(p)
	if err != nil {
		return reading{}, fmt.Errorf("read the node's profile: %w", err)
	}
	from := time.Unix(0, p.TimeNanos)
	checks, err := answers.within(from, from.Add(window))
	return reading{sums, checks}, err
}

func (r *reading) add(o reading) {
	r.checks += o.checks
	for s, ns := range o.sums {
		r.sums[s] += ns
	}
}

// cost shares the time out among the checks.
func (r *reading) cost() *StageCost {
	c := &StageCost{Checks: r.checks, PerCheck: map[Stage]float64{}}
	for _, s := range Stages() {
		c.PerCheck[s] = math.Round(float64(r.sums[s])/float64(r.checks)*10) / 10
	}
	return c
}

// revisionOf is the revision of the source that a program was built from, with a + if the source had been changed since;
// empty if the program does not say.
func revisionOf(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 7)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	return revision + changed
}

// takeProfile has a node profile its processor time for that long.
func takeProfile(ctx context.Context, address string, window time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, window+time.Minute)
	defer cancel()
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", address, window/time.Second)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("profile the node: %w", err)
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, answer.Body); err != nil {
		return nil, fmt.Errorf("profile the node: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("profile the node: it answers %s: %s", answer.Status, strings.TrimSpace(text.String()))
	}
	return text.Bytes(), nil
}
