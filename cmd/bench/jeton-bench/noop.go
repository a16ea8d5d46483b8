package main

import (
	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/bench"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

func noopVerb() *cobra.Command {
	var (
		name string
		deny bool
	)
	cmd := &cobra.Command{
		Use:     "noop-server",
		Short:   "Serve the gRPC interface of a node and decide nothing; bench --compare starts it",
		Example: "  jeton bench noop-server --limit open",
		Hidden:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bench.ServeNoop(cmd.Context(), name, deny, cli.NewLogger(cmd.ErrOrStderr(), "info"))
		},
	}
	cmd.Flags().StringVar(&name, "limit", "open", "limit that the answers name")
	cmd.Flags().BoolVar(&deny, "deny", false, "deny everything instead of allowing it")
	return cmd
}
