package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/bench"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

func tableVerb() *cobra.Command {
	var t bench.Tabling
	o := &options{output: cli.NewChoice("text", "json")}
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Measure everything that has a target",
		Long: "Measure everything that has a target, and print a table in Markdown: the target, the median with the least and\n" +
			"the greatest value, and whether it is met. Ratios are those of a node to a service that decides nothing\n" +
			"and uses the generated protobuf code: a node whose own code for its messages is cheaper can exceed 1. On a machine\n" +
			"that does other work too, only the ratios by processor time, which are logged with each pair, can be trusted.\n\n" +
			"With --cluster, the ratios are those of three nodes to one node, all on this machine.\n\n" +
			"The cases: " + strings.Join(bench.Cases(false), ", ") + ".\n" +
			"Those of a cluster: " + strings.Join(bench.Cases(true), ", ") + ".",
		Example: "  jeton bench table --quick\n" +
			"  jeton bench table --only unary,denials --output json\n" +
			"  jeton bench table --cluster",
		RunE: func(cmd *cobra.Command, _ []string) error {
			setup, err := setupOf(cmd, t.Temp)
			if err != nil {
				return err
			}
			t.Setup = setup
			rows, err := bench.Table(cmd.Context(), t)
			if rows == nil {
				return err
			}
			return errors.Join(o.print(cmd.OutOrStdout(), rows, rows.Write), err)
		},
	}
	cmd.Flags().BoolVar(&t.Quick, "quick", false, "2 rounds of 2 s instead of 5 of 5 s")
	cmd.Flags().BoolVar(&t.Full, "full", false, "also what takes minutes")
	cmd.Flags().BoolVar(&t.Cluster, "cluster", false, "the cases of a cluster instead of those of a node")
	cmd.Flags().StringSliceVar(&t.Only, "only", nil, "names of the only cases to measure")
	cmd.Flags().StringVar(&t.Temp, "temp", os.TempDir(), "where the data of nodes is kept meanwhile, on the disk to measure")
	cmd.Flags().Var(o.output, "output", "form of the output")
	return cmd
}
