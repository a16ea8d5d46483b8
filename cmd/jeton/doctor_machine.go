package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
)

// machine looks at this machine, for a node with the options of the file, of the environment, and of the command line, which come from jeton serve.
func (d *doctorConfig) machine(ctx context.Context, options []string) (*facts.Machine, error) {
	serve := newServeOptions()
	program, verb := &cobra.Command{Use: "jeton"}, &cobra.Command{Use: serveName} // which are not run
	program.AddCommand(verb)
	flags := verb.Flags()
	serve.addFlags(flags)
	if err := cli.Parse(verb, options); err != nil {
		return nil, fmt.Errorf("options of jeton serve, after --: %w", err)
	}
	for name, value := range map[string]string{cli.ConfigOption: d.config, "data": d.data} {
		if value == "" {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return nil, err
		}
	}
	if err := cli.Fill(flags, d.env); err != nil {
		return nil, err
	}
	cfg := facts.MachineConfig{Node: serve.config()}
	bound, err := checkBounds(cfg.Node, serve.memory, d.env)
	cfg.Memory = facts.Memory{Bound: bound.bytes, Source: bound.source, There: bound.there, Of: bound.of}
	if err != nil {
		return nil, err
	}
	return facts.OfMachine(ctx, cfg), nil
}
