package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/build"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/storage/datadir"
)

// A version is which jeton this is, and what it has in common with others.
type version struct {
	build.Info
	// Levels are those of clusters whose nodes it can be, and DiskFormat is the newest of data directories that it writes; it reads all before.
	Levels     level.Range `json:"levels"`
	DiskFormat int         `json:"disk_format"`
}

func thisVersion() version {
	return version{Info: build.This(), Levels: level.Known(), DiskFormat: datadir.NewestFormat}
}

// String is for people.
func (v version) String() string {
	var lines strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&lines, "\n%-12s %v", name, value) }
	lines.WriteString("jeton " + v.Version)
	if v.Commit != "" {
		line("commit", v.Commit)
		line("date", v.Date.Format(time.RFC3339))
		line("modified", map[bool]string{true: "yes: the source was not that of the commit", false: "no"}[v.Modified])
	}
	line("levels", v.Levels)
	line("disk format", v.DiskFormat)
	line("built with", v.Go+" for "+v.System)
	return lines.String()
}

func versionVerb() *cobra.Command {
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print which jeton this is",
		Long: "Print which jeton this is: its version, the commit that it was built from and the date of that, whether the source had\n" +
			"changes beside it, the levels of clusters that it knows (see jeton cluster upgrade), and the newest format of its data\n" +
			"directories.",
		Example: "  jeton version\n  jeton version --output json | jq .disk_format",
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := thisVersion()
			if output.Value == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		},
	}
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}
