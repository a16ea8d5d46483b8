package node

import (
	"flag"
	"reflect"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/ring/level/leveltest"
	"github.com/jeton-dev/jeton/storage/datadir"
)

var update = flag.Bool("update", false, "write the levels of the fields of limits anew; to be done for a new field only")

// Nodes that do not know a field of the limits document, or an algorithm, end when it is in force.
func TestFieldsOfLimitsAndLevels(t *testing.T) {
	leveltest.Hold(t, "testdata/levels.txt", *update, leveltest.Written{
		Name: "limit", Type: reflect.TypeFor[limit.Limit](), Values: map[string][]string{"Algorithm": limit.Algorithms()},
	})
}

// What a document takes is what the fields take of its limits, their plans and their overrides.
func TestDocumentTakesALevel(t *testing.T) {
	needed, err := checkLimits([]byte("limits: {a: {capacity: 1, refill: 1/s, plans: {free: {capacity: 2}}, overrides: [{key: k, capacity: 3}]}}"))
	if err != nil || needed != level.First {
		t.Errorf("fields of the first level take %d, %v", needed, err)
	}
	if _, err := checkLimits([]byte("limits: {a: {capacity: none}}")); err == nil {
		t.Error("a wrong document is taken")
	}
}

// Nodes that found a cluster begin at the newest level: releases that do not know it refuse the disk of each.
func TestFoundersBeginAtTheNewestLevel(t *testing.T) {
	r := newRig(t)
	newest := level.Known().Newest
	for _, s := range started(r.founders()...) {
		if s.state().AgreedLevel() != newest {
			t.Errorf("node %s is at level %d", s.cfg.Name, s.state().AgreedLevel())
		}
		_, l := s.running()
		if seen, err := datadir.Look(l.disk, s.cfg.Data); err != nil || seen.Format != level.Format(newest) {
			t.Errorf("the disk of node %s is seen as %+v: %v", s.cfg.Name, seen, err)
		}
	}
}
