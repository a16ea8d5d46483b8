package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
)

// sampleLimits are in force in dev, where there is no limits file.
const sampleLimits = `limits:
  demo:            # ten, then one every six minutes
    capacity: 10
    refill: 10/1h
  login:           # five attempts, then one every twelve seconds
    capacity: 5
    refill: 5/1m
    on_unavailable: deny
  api:             # fifty requests a second, bursts up to a hundred
    capacity: 100
    refill: 50/s
  tokens:          # a budget of a language model: give the cost with --cost
    capacity: 100000
    refill: 100000/1m
`

func devVerb() *cobra.Command {
	var cfg node.Config
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a node to try things on, with sample limits",
		Long: "Run a node to try things on, with sample limits and nothing to configure.\n\n" +
			"What it has decided survives kill -9: start it again and the limits have held. Ctrl-C stops it and removes\n" +
			"its data, unless --data names a directory to keep.",
		Example: "  jeton dev",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return dev(cmd.Context(), cfg, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&cfg.Data, "data", "", "directory that keeps the data after Ctrl-C too")
	cmd.Flags().StringVar(&cfg.Limits, "limits", "", "YAML file with limits instead of the samples")
	addListenFlags(cmd.Flags(), &cfg)
	return cmd
}

func dev(ctx context.Context, cfg node.Config, stdout, stderr io.Writer) (err error) {
	if cfg.Data == "" {
		cfg.Data = devData()
		defer func() {
			if err == nil {
				err = os.RemoveAll(cfg.Data)
			}
		}()
	}
	cfg.Logger = newLogger(stderr, "warn")
	cfg.Name = "dev"
	n, err := node.Open(cfg)
	if err != nil {
		return err
	}
	if cfg.Limits == "" {
		doc, perr := limit.ParseDocument([]byte(sampleLimits))
		if perr != nil {
			return perr
		}
		n.SetLimits(doc)
	}
	if err := welcome(stdout, n, cfg.Data); err != nil {
		return err
	}
	return wait(ctx, n, cfg.Logger)
}

// devData is where dev keeps its data: always the same place, so that a killed node finds it again.
func devData() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "jeton", "dev")
}

var welcomeText = template.Must(template.New("welcome").Parse(`jeton dev: one node, process {{.PID}}, data in {{.Data}}

  gRPC   {{.GRPC}}
  HTTP   http://{{.HTTP}}

Limits: {{.Limits}}.
Try in another terminal:

  curl -i http://{{.HTTP}}/v1/check -d '{"key":"user:42","limits":["{{.Limit}}"]}'
  go run ./cmd/jeton check {{.Limit}} user:42{{if .Server}} --server {{.Server}}{{end}}
  curl http://{{.HTTP}}/debug/buckets/{{.Limit}}/user:42
  kill -9 {{.PID}}        # start it again: what was spent is still spent

Ctrl-C stops it.
`))

// welcome prints where the node is and what to try.
func welcome(w io.Writer, n *node.Node, data string) error {
	var names []string
	for _, r := range n.Limits().Rules() {
		names = append(names, fmt.Sprintf("%s (%d, %s)", r.Name, r.Capacity, r.Refill))
	}
	server := strings.Replace(n.GRPCAddr(), "127.0.0.1", "localhost", 1)
	if server == "localhost:7700" {
		server = "" // the default needs no flag
	}
	first := "LIMIT"
	if rules := n.Limits().Rules(); len(rules) > 0 {
		first = rules[0].Name
		if _, ok := n.Limits().Rule("demo"); ok {
			first = "demo"
		}
	}
	return welcomeText.Execute(w, map[string]any{
		"PID": os.Getpid(), "Data": data, "GRPC": n.GRPCAddr(),
		"HTTP":   strings.Replace(n.HTTPAddr(), "127.0.0.1", "localhost", 1),
		"Limits": strings.Join(names, ", "), "Limit": first, "Server": server,
	})
}
