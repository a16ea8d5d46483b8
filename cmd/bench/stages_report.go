package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/storage"
)

// The two sides of a StageReport.
const (
	Before = "before"
	After  = "after"
)

// A StageReport says where the processor time of a node goes, by stages, under a few loads, before something was changed
// and after it.
type StageReport struct {
	Cases []StageCase `json:"cases"`
}

// A StageCase is one load.
type StageCase struct {
	Name   string     `json:"name"`
	Title  string     `json:"title"`
	Before *StageCost `json:"before,omitempty"`
	After  *StageCost `json:"after,omitempty"`
}

// A StageCost is what a check costs a node.
type StageCost struct {
	Revision   string            `json:"revision,omitempty"` // of the source that the node was built from
	Processors int               `json:"processors"`
	Profiled   time.Duration     `json:"profiled_ns"`
	Checks     int64             `json:"checks"` // answered meanwhile
	PerCheck   map[Stage]float64 `json:"ns_per_check"`
}

// total is the processor time for a check, in nanoseconds.
func (c *StageCost) total() float64 {
	sum := 0.0
	for _, s := range Stages() {
		sum += c.PerCheck[s]
	}
	return sum
}

func (c *StageCost) check() error {
	switch {
	case c.Checks <= 0 || c.Profiled <= 0 || c.Processors <= 0:
		return errors.New("checks, profiled_ns and processors must be above 0")
	case len(c.PerCheck) == 0:
		return errors.New("ns_per_check is empty")
	}
	for s, ns := range c.PerCheck {
		if !slices.Contains(Stages(), s) {
			return fmt.Errorf("ns_per_check: %q is no stage", s)
		}
		if !(ns >= 0 && ns < 1e9) {
			return fmt.Errorf("ns_per_check: %s: %g is not between 0 and a second", s, ns)
		}
	}
	if c.total() == 0 {
		return errors.New("ns_per_check: nothing takes any time")
	}
	return nil
}

// A stageLoad is a load under which stages are measured.
type stageLoad struct {
	name, title string
	durability  storage.Durability
	load        Load
}

// stageLoads are all of them: a new one is one entry.
func stageLoads() []stageLoad {
	return []stageLoad{
		{"batch-memory", "1,000 checks per call, 100,000 keys, kept in memory", storage.Memory, batches(Uniform)},
		{"batch-fsync", "1,000 checks per call, 100,000 keys, fsync before every answer", storage.Fsync, batches(Uniform)},
		{"unary-fsync", "one check per call, 100,000 keys, fsync before every answer", storage.Fsync, Load{Callers: 64}},
	}
}

// StageLoads are the names of all loads under which stages are measured, in their order.
func StageLoads() []string {
	var names []string
	for _, l := range stageLoads() {
		names = append(names, l.name)
	}
	return names
}

// ReadStages reads a report that Write has written, strictly.
func ReadStages(path string) (*StageReport, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r, d := new(StageReport), json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.More() {
		return nil, fmt.Errorf("%s: there is more than one report in it", path)
	}
	for _, c := range r.Cases {
		for side, cost := range map[string]*StageCost{Before: c.Before, After: c.After} {
			if cost == nil {
				continue
			}
			if err := cost.check(); err != nil {
				return nil, fmt.Errorf("%s: case %q: %s: %w", path, c.Name, side, err)
			}
		}
	}
	return r, nil
}

// openStages reads a report, or begins one if there is no such file.
func openStages(path string) (*StageReport, error) {
	r, err := ReadStages(path)
	if errors.Is(err, fs.ErrNotExist) {
		return new(StageReport), nil
	}
	return r, err
}

// put takes in what was measured on one side. The cases stay in the order of the loads.
func (r *StageReport) put(l stageLoad, side string, cost *StageCost) {
	i := slices.IndexFunc(r.Cases, func(c StageCase) bool { return c.Name == l.name })
	if i < 0 {
		r.Cases = append(r.Cases, StageCase{Name: l.name})
		i = len(r.Cases) - 1
	}
	c := &r.Cases[i]
	c.Title = l.title
	if side == Before {
		c.Before = cost
	} else {
		c.After = cost
	}
	names := StageLoads()
	slices.SortStableFunc(r.Cases, func(a, b StageCase) int { return slices.Index(names, a.Name) - slices.Index(names, b.Name) })
}

// save writes the report to a file.
func (r *StageReport) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // any user may read it
}

// whole says which sides have not been measured.
func (r *StageReport) whole() error {
	if len(r.Cases) == 0 {
		return errors.New("there is no case: jeton bench stages capture measures them")
	}
	var errs []error
	for _, c := range r.Cases {
		for _, side := range []string{Before, After} {
			if (side == Before && c.Before == nil) || (side == After && c.After == nil) {
				errs = append(errs, fmt.Errorf("case %q has no %s: jeton bench stages capture --%s BINARY --only %s measures it",
					c.Name, side, side, c.Name))
			}
		}
	}
	return errors.Join(errs...)
}
