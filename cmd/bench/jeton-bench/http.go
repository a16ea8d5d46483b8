package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/bench"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// What is measured of a gateway, unless said otherwise.
const (
	httpPairs         = 5
	httpDuration      = 5 * time.Second
	quickHTTPPairs    = 2
	quickHTTPDuration = 2 * time.Second
)

func httpVerb() *cobra.Command {
	var (
		h     bench.HTTPing
		quick bool
	)
	o := &options{output: cli.NewChoice("text", "json")}
	cmd := &cobra.Command{
		Use:   "http",
		Short: "Measure a gateway",
		Long: "Measure a gateway: start one, with a cluster that decides and a small upstream, and put a load on it and on\n" +
			"servers of this same program that limit nothing, in turn. What counts are the ratios: a proxy is compared with the\n" +
			"reverse proxy of Go's standard library, forward-auth with a handler that does nothing but answer 204, and the\n" +
			"middleware, in front of a node in the same process, with the handler that it wraps. All processes are on this\n" +
			"machine, the generator of the load included. An answer that is not the one that is expected fails the measurement.\n\n" +
			"Every request takes one token of a limit that is never reached, and which only the cluster may grant.\n\n" +
			"The cases: " + strings.Join(bench.HTTPCases(), ", ") + ".",
		Example: "  jeton bench http\n" +
			"  jeton bench http --quick --only proxy --keys one\n" +
			"  jeton bench http --by header --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			setup, err := setupOf(cmd, h.Temp)
			if err != nil {
				return err
			}
			h.Setup = setup
			if quick && !cmd.Flags().Changed("pairs") {
				h.Pairs = quickHTTPPairs
			}
			if quick && !cmd.Flags().Changed("duration") {
				h.Duration = quickHTTPDuration
			}
			report, err := bench.HTTP(cmd.Context(), h)
			if report == nil {
				return err
			}
			return errors.Join(o.print(cmd.OutOrStdout(), report, report.Write), err)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&h.Nodes, "nodes", 3, "how many nodes decide: 1, 3 or 5")
	flags.StringVar(&h.By, "by", bench.ByAPIKey, "by what clients are told apart: api-key, header")
	flags.BoolVar(&h.Leased, "leased", false, "let the gateway decide by leases: see docs/consistency.md")
	flags.StringVar(&h.Keys, "keys", bench.Uniform, "which clients ask: uniform, zipf, one")
	flags.IntVar(&h.KeyCount, "key-count", 1000, "how many clients there are, if uniform or zipf")
	flags.IntVar(&h.Connections, "connections", 64, "over how many connections the gateway is asked where it is to be busy")
	flags.IntVar(&h.Pairs, "pairs", httpPairs, "how often both sides are measured in turn")
	flags.DurationVar(&h.Duration, "duration", httpDuration, "how long each is measured, after a warm-up of a quarter of it")
	flags.BoolVar(&quick, "quick", false, "2 pairs of 2 s instead of 5 of 5 s")
	flags.StringSliceVar(&h.Only, "only", nil, "names of the only cases to measure")
	flags.StringVar(&h.Temp, "temp", os.TempDir(), "where the data of the nodes is kept meanwhile")
	flags.Var(o.output, "output", "form of the output")
	return cmd
}

// httpServerVerb serves what a gateway is measured against, and what stands behind it.
func httpServerVerb() *cobra.Command {
	var role, upstream string
	cmd := &cobra.Command{
		Use:     "http-server",
		Short:   "Serve HTTP and limit nothing; bench http starts it",
		Example: "  jeton bench http-server --role bare-proxy --upstream http://127.0.0.1:9000",
		Hidden:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cli.RelaxCollector() // as a gateway does
			return bench.ServeHTTP(cmd.Context(), role, upstream, cli.NewLogger(cmd.ErrOrStderr(), "info"))
		},
	}
	cmd.Flags().StringVar(&role, "role", bench.Upstream, "what it does: upstream, bare-proxy, bare-answer, model")
	cmd.Flags().StringVar(&upstream, "upstream", "", "URL to which bare-proxy passes everything on")
	return cmd
}
