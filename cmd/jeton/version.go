package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// A build is what the binary knows of itself.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

// String is the line for people.
func (b build) String() string {
	return strings.Join([]string{"jeton", b.Version, b.Commit, b.Go, b.System}, " ")
}

func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

func versionVerb() *cobra.Command {
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print which jeton this is",
		Example: "  jeton version --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if output.Value == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), b)
			return err
		},
	}
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}
