package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/bench"
)

// stages is what the flags of "jeton bench stages" say.
type stages struct{ from, output, page string }

func stagesVerb() *cobra.Command {
	o := &stages{}
	cmd := &cobra.Command{
		Use:   "stages",
		Short: "Show where the processor time of a check goes",
		Long: "Show where the processor time of a check goes, by stages, before a change of jeton and after it: what\n" +
			"\"jeton bench stages capture\" has measured is printed as tables in Markdown, or drawn.",
		Example: "  jeton bench stages capture --before ./jeton-older --into speed.json\n" +
			"  jeton bench stages --from speed.json\n" +
			"  jeton bench stages --from docs/speed.json --output docs/speed.svg --page docs/speed.md",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().StringVar(&o.from, "from", "", "file with what was measured")
	cmd.Flags().StringVar(&o.output, "output", "", "draw a picture into this file, in SVG")
	cmd.Flags().StringVar(&o.page, "page", "", "replace the tables in this page, in Markdown")
	cmd.AddCommand(captureVerb())
	return cmd
}

func (o *stages) run(cmd *cobra.Command) error {
	if o.from == "" {
		return fmt.Errorf("--from: name the file that jeton bench stages capture has written, such as docs/speed.json")
	}
	report, err := bench.ReadStages(o.from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if o.output != "" {
		var svg bytes.Buffer
		if err := report.Draw(&svg); err != nil {
			return fmt.Errorf("--from: %s: %w", o.from, err)
		}
		if err := os.WriteFile(o.output, svg.Bytes(), 0o644); err != nil { //nolint:gosec // any user may read it
			return fmt.Errorf("--output: %w", err)
		}
	}
	if o.page != "" {
		page, err := os.ReadFile(o.page)
		if err == nil {
			page, err = report.Fill(page)
		}
		if err == nil {
			err = os.WriteFile(o.page, page, 0o644) //nolint:gosec // any user may read it
		}
		if err != nil {
			return fmt.Errorf("--page: %s: %w", o.page, err)
		}
	}
	if o.output != "" || o.page != "" {
		return nil
	}
	if err := report.Write(cmd.OutOrStdout()); err != nil {
		return fmt.Errorf("--from: %s: %w", o.from, err)
	}
	return nil
}

func captureVerb() *cobra.Command {
	var (
		c     bench.StageCapture
		after string
	)
	cmd := &cobra.Command{
		Use:   "capture",
		Short: "Measure the stages of a node",
		Long: "Measure the stages of a node: start one, put it under a load, let it profile itself, and share the processor\n" +
			"time of each stage out among the checks that were answered meanwhile. With --before, two builds of jeton are\n" +
			"measured in turn.\n\n" +
			"The loads: " + strings.Join(bench.StageLoads(), ", ") + ".",
		Example: "  jeton bench stages capture --before ./jeton-older --into speed.json\n" +
			"  jeton bench stages capture --into speed.json --only batch-fsync\n" +
			"  jeton bench stages capture --cluster --into cluster.json --only batch-fsync",
		RunE: func(cmd *cobra.Command, _ []string) error {
			setup, err := setupOf(cmd, c.Temp)
			if err != nil {
				return err
			}
			if after != "" {
				setup.Program = after
			}
			c.Setup = setup
			return bench.CaptureStages(cmd.Context(), c)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Before, "before", "", "jeton binary that is measured as the older one; empty: what the file says of it stays")
	flags.StringVar(&after, "after", "", "jeton binary that is measured as the newer one; empty: this one")
	flags.StringVar(&c.Into, "into", "", "file of the report, which is made, or in which what is measured is replaced")
	flags.BoolVar(&c.Cluster, "cluster", false, "measure a cluster of three nodes, by the sum of their profiles")
	flags.StringSliceVar(&c.Only, "only", nil, "names of the only loads to measure")
	flags.IntVar(&c.Rounds, "rounds", 3, "how often each binary is measured")
	flags.DurationVar(&c.Window, "window", 10*time.Second, "how long each profile takes, in whole seconds")
	flags.DurationVar(&c.Warmup, "warmup", 3*time.Second, "how long the load runs before that")
	flags.StringVar(&c.Profiles, "profiles", "", "folder in which the profiles are kept; empty: they are not")
	flags.StringVar(&c.Temp, "temp", os.TempDir(), "where the node's data is kept meanwhile, on the disk to measure")
	return cmd
}
