package clustertests

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/nemesis"
	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// What TestNemesis takes from the command line, after -args: make nemesis sets the first two and REPORT.
var (
	nemesisTime       = flag.Duration("time", 0, "how long faults go on; 0 for two short runs, one for each durability")
	nemesisSeed       = flag.Uint64("seed", 0, "what the faults are drawn from; 0 for a random one")
	nemesisReport     = flag.String("report", "", "file to which the report is appended, in Markdown")
	nemesisLoad       = flag.Int("load", 0, "checks a second; 0 for 2000, or 500 in the short runs")
	nemesisKeys       = flag.Int("keys", 1000, "over how many keys they go")
	nemesisNodes      = flag.Int("nodes", 3, "how many nodes found the cluster: 3 or 5")
	nemesisReplicas   = flag.Int("replicas", 3, "how many keep each register: 3 or 5")
	nemesisGateways   = flag.Int("gateways", 2, "how many gateways ask for a half of the checks; 0 for none")
	nemesisDurability = flag.String("durability", "fsync", "fsync or memory")
	nemesisOnly       = flag.String("only", "", "kinds of faults that are drawn, separated by commas; empty for all")
	nemesisLoopback   = flag.Bool("loopback", false, "leave the network alone: no namespaces are needed")
	nemesisKeep       = flag.String("keep", "", "folder that keeps the history and the logs; empty for one that is removed unless the run fails")
)

// TestNemesis does to a cluster under load whatever may happen to one, and finds that the limits hold: see the package
// nemesis. Without -time there are two short runs, of faults drawn at random. With -short the network is left alone where
// there are no namespaces.
func TestNemesis(t *testing.T) {
	if *nemesisSeed == 0 {
		decide(t, "seed", fmt.Sprint(1+rand.Uint64N(1e9))) // before anything is run in another process
	}
	cfg := nemesis.Config{
		Setting: nemesis.Setting{
			Nodes: *nemesisNodes, Replicas: *nemesisReplicas, Gateways: *nemesisGateways, Time: *nemesisTime, Seed: *nemesisSeed,
		},
		PerSecond: 2000, Keys: *nemesisKeys, Again: "make nemesis",
	}
	if *nemesisOnly != "" {
		cfg.Only = strings.Split(*nemesisOnly, ",")
	}
	if cfg.Time > 0 {
		runNemesis(t, cfg, *nemesisDurability)
		return
	}
	cfg.PerSecond, cfg.Again = 500, "go test -run '^TestNemesis$' ./cluster-tests -args"
	if cfg.Only == nil {
		cfg.Only = nemesis.Quick()
	}
	t.Run("fsync", func(t *testing.T) {
		cfg.Time = 20 * time.Second
		runNemesis(t, cfg, "fsync")
	})
	t.Run("memory", func(t *testing.T) {
		cfg.Time = 10 * time.Second
		cfg.Seed++ // other faults than those before
		runNemesis(t, cfg, "memory")
	})
}

// What is drawn seldom, or is not over within seconds, gets a short run of its own, in which each kind is played.
func TestNemesisSeldom(t *testing.T) {
	t.Parallel()
	cfg := nemesis.Config{
		Setting: nemesis.Setting{
			Nodes: 3, Replicas: 3, Time: 20 * time.Second, Network: true, Late: true,
			Only: []string{"answers late", "floored", "majority lost and recovered", "flood of invented keys", "limits changed"},
		},
		PerSecond: 200, Keys: 200,
	}
	for cfg.Seed = 1 + rand.Uint64N(1e9); !drawsAll(t, cfg.Setting); cfg.Seed++ {
	}
	cfg.Again = seldomAgain(cfg)
	cfg.Binary = process.Build(t, "faults")
	network.Run(t, func(lab *network.Lab) {
		cfg.Folder = t.TempDir()
		played := map[string]bool{}
		for _, p := range nemesisIn(t, lab, cfg).Played {
			played[p.Kind.Name] = true
		}
		for _, name := range cfg.Only {
			if played[name] || name == "answers late" && network.CanBeLate() != nil {
				continue
			}
			// On a slow machine the fault before it was not over in time.
			own := cfg
			own.Only, own.Folder = []string{name}, t.TempDir()
			for ; !drawsAll(t, own.Setting); own.Seed++ {
			}
			own.Again = seldomAgain(own)
			if report := nemesisIn(t, lab, own); len(report.Played) == 0 {
				t.Errorf("seed %d: there was nothing of this: %s", own.Seed, name)
			}
		}
	})
}

// seldomAgain is how a run of kinds that are seldom is repeated.
func seldomAgain(cfg nemesis.Config) string {
	return fmt.Sprintf("go test -run '^TestNemesis$/^fsync$' ./cluster-tests -args -seed=%d -only='%s'", cfg.Seed, strings.Join(cfg.Only, ","))
}

// drawsAll says whether each kind begins early enough to be played for certain.
func drawsAll(t *testing.T, s nemesis.Setting) bool {
	t.Helper()
	entries, err := nemesis.Draw(s)
	if err != nil {
		t.Fatal(err)
	}
	early := map[string]bool{}
	for _, e := range entries {
		early[e.Kind.Name] = early[e.Kind.Name] || e.At < s.Time/2
	}
	return len(early) == len(s.Only) && !slices.Contains(slices.Collect(maps.Values(early)), false)
}

// runNemesis makes one run, in a network of its own.
func runNemesis(t *testing.T, cfg nemesis.Config, durability string) {
	t.Helper()
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	if durability != "fsync" && durability != "memory" {
		t.Fatalf("durability: fsync or memory, not %q", durability)
	}
	cfg.Folder = *nemesisKeep
	if cfg.Folder == "" {
		cfg.Folder = filepath.Join(os.TempDir(), fmt.Sprintf("jeton-nemesis-%d-%s-%d", *nemesisSeed, durability, os.Getpid()))
		decide(t, "keep", cfg.Folder)
		defer decide(t, "keep", "")
	}
	cfg.Again += again()
	cfg.Binary = process.Build(t, "faults")
	if durability != "fsync" {
		cfg.Args = []string{"--durability", durability}
	}
	if *nemesisLoad > 0 {
		cfg.PerSecond = *nemesisLoad
	}
	if *nemesisLoopback || testing.Short() {
		t.Log("the network is left alone, as -loopback or -short says")
		withGateways(t, nemesisIn(t, nil, cfg))
	} else {
		network.Run(t, func(lab *network.Lab) { withGateways(t, nemesisIn(t, lab, cfg)) })
	}
	if !t.Failed() && strings.HasPrefix(filepath.Base(cfg.Folder), "jeton-nemesis-") {
		if err := os.RemoveAll(cfg.Folder); err != nil {
			t.Error(err)
		}
	}
}

// withGateways checks that gateways were victims, in a run that has them and leaves nothing out.
func withGateways(t *testing.T, report *nemesis.Report) {
	t.Helper()
	if report.Gateways > 0 && *nemesisOnly == "" && !slices.ContainsFunc(report.Played, func(p *nemesis.Played) bool { return p.Kind.Gateways }) {
		t.Errorf("seed %d: nothing happened to a gateway", report.Seed)
	}
}

// again are the flags of this run as the command line takes them, make's in its own form.
func again() string {
	var b strings.Builder
	byMake, rest := *nemesisTime > 0, ""
	flag.Visit(func(f *flag.Flag) {
		value := f.Value.String()
		if strings.Contains(value, " ") {
			value = "'" + value + "'"
		}
		switch {
		case f.Name == "keep" || f.Name == "report" || strings.HasPrefix(f.Name, "test."):
		case byMake && (f.Name == "time" || f.Name == "seed"):
			fmt.Fprintf(&b, " %s=%s", strings.ToUpper(f.Name), f.Value)
		case byMake:
			rest += fmt.Sprintf(" -%s=%s", f.Name, value)
		default:
			fmt.Fprintf(&b, " -%s=%s", f.Name, value)
		}
	})
	if rest != "" {
		fmt.Fprintf(&b, " ARGS=%q", rest[1:])
	}
	return b.String()
}

// decide sets a flag that was left open, also for processes of this test that run in namespaces.
func decide(t *testing.T, name, value string) {
	t.Helper()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

func nemesisIn(t *testing.T, lab *network.Lab, cfg nemesis.Config) *nemesis.Report {
	t.Helper()
	if err := os.MkdirAll(cfg.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.Lab, cfg.Network = lab, lab != nil
	if lab != nil { // what is mounted there is gone with the processes of the test, however it ends
		if err := nemesis.CanMount(t.TempDir()); err != nil {
			t.Logf("no file system can be mounted, so none is filled up: %v", err)
		} else {
			cfg.Mounts = true
		}
	}
	if lab != nil {
		if err := network.CanBeLate(); err != nil {
			t.Logf("no packet can be made late, so none is: %v", err)
		} else {
			cfg.Late = true
		}
	}
	report, err := nemesis.Run(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	text := report.Markdown()
	fmt.Fprintf(t.Output(), "\n%s", text)
	if *nemesisReport != "" {
		appendTo(t, *nemesisReport, text)
	}
	if err := report.Err(); err != nil {
		t.Errorf("seed %d: see the report above, and %s", cfg.Seed, cfg.Folder)
	}
	return report
}

// appendTo adds a text to a file.
func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
