package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/bench"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/storage"
)

// The default times of a load.
const (
	defaultDuration = 10 * time.Second
	defaultWarmup   = time.Second
)

// options are what the flags of "jeton bench" say.
type options struct {
	load     bench.Load
	server   string
	caller   cli.Credential
	limit    string
	capacity int64
	refill   string

	comparing  bench.Comparing
	durability *cli.Choice

	output *cli.Choice
}

func loadVerb() *cobra.Command {
	o := &options{durability: cli.NewChoice(string(storage.Fsync), string(storage.Memory)), output: cli.NewChoice("text", "json")}
	cmd := &cobra.Command{
		Use:   "jeton-bench",
		Short: "Measure a node or a cluster",
		Long: "Measure a node: put a load on a running one, or start one and compare it with a service that decides nothing,\n" +
			"or with Redis. Or start a cluster of several nodes on this machine, and compare it with one of these, or with a\n" +
			"single node.\n\n" +
			"Without --rate every caller makes its next call when its last one was answered. With it, calls begin at their\n" +
			"time whether earlier ones were answered or not, and latencies count from then. Ctrl-C ends a load and shows\n" +
			"what was measured until then.",
		Example: "  jeton bench --limit login\n" +
			"  jeton bench --capacity 1000 --refill 100/s --rate 10000 --keys zipf --duration 30s\n" +
			"  jeton bench --compare noop --batch 1000 --callers 16\n" +
			"  jeton bench --nodes 3 --compare 1 --batch 1000 --callers 16 --keys new\n" +
			"  jeton bench table --quick",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.addFlags(cmd.Flags())
	cmd.PersistentFlags().String(jetonOption, "", "path of the jeton binary, which runs nodes and gateways; empty: the one beside this program, or in PATH")
	return cmd
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	l := &o.load
	flags.StringVar(&o.server, "server", "127.0.0.1:7700", "gRPC address of the node; also JETON_SERVER")
	o.caller.AddCertificateFlags(flags)
	flags.StringVar(&o.limit, "limit", "", "stored limit that is checked")
	flags.Int64Var(&o.capacity, "capacity", 0, "check a limit that is not stored, with this capacity")
	flags.StringVar(&o.refill, "refill", "", "and this refill, such as 100/s")
	flags.IntVar(&l.Callers, "callers", 64, "how many calls are under way at most")
	flags.IntVar(&l.Connections, "connections", 2, "over how many connections; Redis needs one for each caller")
	flags.Float64Var(&l.Rate, "rate", 0, "calls that begin in a second; 0: as many as are answered")
	flags.StringVar(&l.Arrivals, "arrivals", bench.Even, "with --rate: even distances, or random ones: even, poisson")
	flags.StringVar(&l.Keys, "keys", bench.Uniform, "which keys: uniform, zipf, one, new")
	flags.IntVar(&l.KeyCount, "key-count", 100_000, "how many keys there are, if uniform or zipf")
	flags.Float64Var(&l.Exponent, "zipf", 1.1, "exponent of --keys zipf")
	flags.IntVar(&l.Batch, "batch", 1, "checks in one call, at most 1000")
	flags.DurationVar(&l.Duration, "duration", defaultDuration, "how long the load is measured")
	flags.DurationVar(&l.Warmup, "warmup", defaultWarmup, "how long it runs before that")
	flags.Uint64Var(&l.Seed, "seed", 1, "makes the same draws again")
	flags.Var(o.output, "output", "form of the output")

	c := &o.comparing
	flags.StringVar(&c.Against, "compare", "", "start a node, or a cluster, and compare it: noop, redis, 1 (a single node)")
	flags.IntVar(&c.Nodes, "nodes", 1, "with --compare: how many nodes to start: 1, or 3 or 5, which form a cluster")
	flags.Var(o.durability, "durability", "with --compare: of the nodes")
	flags.BoolVar(&c.Deny, "deny", false, "with --compare: measure denials")
	flags.IntVar(&c.Pairs, "pairs", 5, "with --compare: how often both are measured in turn")
	flags.StringVar(&c.Temp, "temp", os.TempDir(), "with --compare: where the data of nodes is kept meanwhile, on the disk to measure")
}

func (o *options) run(cmd *cobra.Command) error {
	if err := o.combination(cmd.Flags()); err != nil {
		return err
	}
	if o.comparing.Against != "" {
		return o.compare(cmd)
	}
	ref, err := o.ref()
	if err != nil {
		return err
	}
	o.load.Limit = ref
	if o.load.TLS, err = o.caller.TLS(); err != nil {
		return err
	}
	report, err := bench.Run(cmd.Context(), o.server, o.load)
	if err != nil {
		return err
	}
	return o.print(cmd.OutOrStdout(), report, report.Write)
}

func (o *options) compare(cmd *cobra.Command) error {
	setup, err := setupOf(cmd, o.comparing.Temp)
	if err != nil {
		return err
	}
	c := o.comparing
	c.Setup, c.Load, c.Durability = setup, o.load, storage.Durability(o.durability.Value)
	result, err := bench.Compare(cmd.Context(), c)
	if err != nil {
		return err
	}
	return o.print(cmd.OutOrStdout(), result, result.Write)
}

// print writes a result in the form that was asked for.
func (o *options) print(w io.Writer, result any, text func(io.Writer) error) error {
	if o.output.Value == "json" {
		return json.NewEncoder(w).Encode(result)
	}
	return text(w)
}

// combination refuses flags that mean nothing together.
func (o *options) combination(flags *pflag.FlagSet) error {
	refuse := func(names []string, why string) error {
		for _, name := range names {
			if flags.Changed(name) {
				return fmt.Errorf("--%s: %s", name, why)
			}
		}
		return nil
	}
	if o.comparing.Against != "" {
		if err := refuse([]string{"limit", "capacity", "refill"}, "--compare brings its own limits: leave it out"); err != nil {
			return err
		}
		if err := refuse([]string{"tls-cert", "tls-key", "tls-ca"}, "--compare starts nodes of its own, in plain text: leave it out, and JETON_TLS_… too"); err != nil {
			return err
		}
		return refuse([]string{"server"}, "--compare starts nodes of its own: leave it out, and JETON_SERVER too")
	}
	if err := refuse([]string{"nodes", "durability", "deny", "pairs", "temp"}, "means something only with --compare: add that, or leave this out"); err != nil {
		return err
	}
	if o.load.Rate == 0 && flags.Changed("arrivals") {
		return fmt.Errorf("--arrivals: means something only with --rate")
	}
	return nil
}

// ref is the limit that a load checks.
func (o *options) ref() (limit.Ref, error) {
	inline := o.capacity != 0 || o.refill != ""
	switch {
	case o.limit == "" && !inline:
		return limit.Ref{}, fmt.Errorf("--limit: name a stored limit (jeton limits get shows them), or define one with --capacity and --refill")
	case o.limit != "" && inline:
		return limit.Ref{}, fmt.Errorf("--limit: names a stored limit, and --capacity and --refill define another: keep one of the two")
	case o.limit != "":
		return limit.Named(o.limit), nil
	}
	refill, err := limit.ParseRefill(o.refill)
	if err != nil {
		return limit.Ref{}, fmt.Errorf("--%w", err)
	}
	l := limit.Limit{Name: "jeton-bench", Capacity: o.capacity, Refill: refill}
	if _, err := l.Rule(); err != nil {
		return limit.Ref{}, fmt.Errorf("--%w", err)
	}
	return limit.Inline(l), nil
}

// jetonOption names the jeton binary.
const jetonOption = "jeton"

// setupOf says how to start what a verb measures, and what that is measured against.
func setupOf(cmd *cobra.Command, temp string) (bench.Setup, error) {
	self, err := os.Executable()
	if err != nil {
		return bench.Setup{}, fmt.Errorf("find this program, to start it once more: %w", err)
	}
	program := cmd.Flag(jetonOption).Value.String()
	if program == "" {
		program = jetonNear(self)
	}
	return bench.Setup{Program: program, Self: self, Temp: temp, Log: cmd.ErrOrStderr()}, nil
}

// jetonNear is the path of the jeton binary: beside a program, or in PATH; empty if it is in neither.
func jetonNear(program string) string {
	if target, err := filepath.EvalSymlinks(program); err == nil {
		program = target
	}
	for _, name := range []string{filepath.Join(filepath.Dir(program), "jeton"), "jeton"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
