package main

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/bench"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/storage"
)

func floodVerb() *cobra.Command {
	var f bench.Flooding
	memory := int64(0)
	durability, output := cli.NewChoice(string(storage.Fsync), string(storage.Memory)), cli.NewChoice("text", "json")
	o := &options{output: output}
	cmd := &cobra.Command{
		Use:   "flood",
		Short: "Measure an honest caller beside a flood",
		Long: "Measure how long an honest caller waits for its checks, alone and then beside a caller who floods the same node:\n" +
			"with batches of 1,000 checks, as fast as they are answered. For each flood nodes are started anew, on this\n" +
			"machine. The flood's client is a process with one processor that encodes its messages once; it still takes its\n" +
			"share of the machine from the nodes, so what counts is the ratio of the honest caller's p99 to that alone, just before.\n" +
			"Memory is that of the node that takes most, at its peak and fifteen seconds after the flood; CPUs are the processors that\n" +
			"the first node and the flood's client kept busy meanwhile.\n\n" +
			"The floods, by what their client invents: " + strings.Join(bench.Floods(), ", ") + ".",
		Example: "  jeton bench flood\n" +
			"  jeton bench flood --nodes 3 --only receipts --memory 300MiB",
		RunE: func(cmd *cobra.Command, _ []string) error {
			setup, err := setupOf(cmd, f.Temp)
			if err != nil {
				return err
			}
			f.Setup, f.Durability = setup, storage.Durability(durability.Value)
			if memory > 0 {
				f.Memory = strconv.FormatInt(memory, 10)
			}
			report, err := bench.Flood(cmd.Context(), f)
			if report == nil {
				return err
			}
			return errors.Join(o.print(cmd.OutOrStdout(), report, report.Write), err)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.Nodes, "nodes", 1, "how many nodes decide: 1, 3 or 5; the flood goes to the first")
	flags.Var(durability, "durability", "of the nodes")
	flags.Var(cli.Size{Bytes: &memory, Least: cli.LeastMemory}, "memory", "the --memory of the nodes, such as 300MiB")
	flags.Float64Var(&f.Rate, "rate", 50, "checks a second of the honest caller")
	flags.IntVar(&f.Connections, "connections", 2, "over how many connections the flood comes")
	flags.IntVar(&f.Calls, "calls", 4, "how many batches it has under way on each")
	flags.DurationVar(&f.Duration, "duration", 10*time.Second, "how long the honest caller is measured each time")
	flags.StringSliceVar(&f.Only, "only", nil, "names of the only floods to measure")
	flags.StringVar(&f.Temp, "temp", os.TempDir(), "where the data of the nodes is kept meanwhile")
	flags.Var(output, "output", "form of the output")
	return cmd
}

// floodClientVerb floods a node until it is killed.
func floodClientVerb() *cobra.Command {
	var f bench.FloodClient
	cmd := &cobra.Command{
		Use:     "flood-client",
		Short:   "Flood a node with checks; bench flood starts it",
		Example: "  jeton bench flood-client --server 127.0.0.1:7700 --kind receipts",
		Hidden:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runtime.GOMAXPROCS(1)
			f.Log = cmd.ErrOrStderr()
			return f.Run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Server, "server", "127.0.0.1:7700", "gRPC address of the node")
	flags.StringVar(&f.Kind, "kind", bench.FloodKeys, "what is invented: "+strings.Join(bench.Floods(), ", "))
	flags.IntVar(&f.Connections, "connections", 2, "over how many connections")
	flags.IntVar(&f.Calls, "calls", 4, "how many batches are under way on each")
	flags.Int64Var(&f.Checks, "checks", 0, "after how many it ends; 0: when it is killed")
	return cmd
}
