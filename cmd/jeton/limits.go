package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/rpc/client"
)

func limitsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "limits",
		Short:   "See the limits in force",
		Example: "  jeton limits get > limits.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(limitsGetVerb())
	return cmd
}

func limitsGetVerb() *cobra.Command {
	var r remote
	output := newChoice("yaml", "json")
	cmd := &cobra.Command{
		Use:     "get",
		Short:   "Print the limits in force as a document that --limits takes",
		Example: "  jeton limits get > limits.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				doc, err := c.Limits(ctx)
				if err != nil {
					return err
				}
				if output.value == "json" {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(doc)
				}
				text, err := doc.YAML()
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}
