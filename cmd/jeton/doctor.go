package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/jeton/doctor"
	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// A doctorConfig is how jeton doctor was called.
type doctorConfig struct {
	remote   remote
	config   string
	data     string
	gateways []string
	least    *cli.Choice
	output   *cli.Choice
	env      cli.Lookup
}

func doctorVerb(env cli.Lookup) *cobra.Command {
	cfg := doctorConfig{env: env, least: cli.NewChoice(activity.Notice, activity.Warning, activity.Critical), output: cli.NewChoice("text", "json")}
	cmd := &cobra.Command{
		Use:        "doctor [-- OPTION…]",
		SuggestFor: []string{"diagnose", "diagnostics", "troubleshoot", "lint", "verify", "preflight"},
		Short:      "Look for what goes wrong in life: on this machine, where a node runs or will run, and in a cluster",
		Long: "Look for what goes wrong in life, and say what to do about each finding.\n\n" +
			"With --server it asks that node about its cluster: problems of nodes, whether each node reaches each other one at every\n" +
			"port, over TCP and UDP, clocks, versions, certificates, zones, limits that are never used or deny everything, overrides.\n\n" +
			"Without, or where --config, --data or options of jeton serve after -- are given, it looks at this machine: how long an\n" +
			"fsync takes in the data folder and whether it can be honest, room, open files, memory, processors, the clock, ports, and the\n" +
			"files that options name. Run it as the node's user, before the node is first started or while it runs.\n\n" +
			"Nothing is changed, and it is safe where a node runs: what is written is one file of 256 KiB, by 64 writes that\n" +
			"wait for the disk, and it is deleted again. It is in the data folder, or, where there is none yet, in the folder in which the\n" +
			"node will make it. Nodes open some connections to one another.\n\n" +
			"Exit codes: 0 nothing found; 1 something was; 2 it could not look.",
		Example: "  jeton doctor --config /etc/jeton/jeton.yaml\n" +
			"  jeton doctor --data /var/lib/jeton -- --listen-grpc :7700 --cluster-key-file key\n" +
			"  jeton doctor --server node-1:7700 --cluster-key-file key\n" +
			"  jeton doctor --server node-1:7700 --gateway edge-1:443 --least warning || ./call-somebody\n" +
			"  jeton doctor --server node-1:7700 --output json | jq '.findings[].what'",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
				return fmt.Errorf("%.64q: options of jeton serve come after --: see jeton doctor --help", args[0])
			}
			return nil
		},
		RunE: cfg.run,
	}
	cfg.remote.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&cfg.config, cli.ConfigOption, "", "YAML file with the options of the node on this machine")
	flags.SetAnnotation(cli.ConfigOption, cli.OwnDocument, nil) //nolint:errcheck // it is there
	flags.StringVar(&cfg.data, "data", "", "data folder of the node on this machine; as the node's options have it if empty")
	flags.StringSliceVar(&cfg.gateways, "gateway", nil, "addresses, HOST:PORT, such as those of gateways: whether they are reached, and their TLS certificates")
	flags.Var(cfg.least, "least", "how bad a finding must be to count")
	flags.Var(cfg.output, "output", "form of the output")
	return cmd
}

// run looks, and says what was found.
func (d *doctorConfig) run(cmd *cobra.Command, options []string) error {
	if err := d.checkGateways(); err != nil {
		return err
	}
	found := doctor.Facts{At: time.Now()}
	asks := cmd.Flags().Changed("server")
	if local := d.config != "" || d.data != "" || len(options) > 0; local || !asks {
		machine, err := d.machine(cmd.Context(), options)
		if err != nil {
			return err
		}
		found.Machine = machine
	}
	var failed error
	switch {
	case asks:
		found.Cluster, failed = d.cluster(cmd)
	case len(d.gateways) > 0:
		return errors.New("--gateway: certificates are looked at where a cluster is: give --server too")
	}
	if failed != nil && found.Machine == nil {
		return failed
	}
	report := doctor.Judge(&found)
	report.Least(d.least.Value)
	var err error
	if d.output.Value == "json" {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = report.Write(cmd.OutOrStdout())
	}
	switch {
	case err != nil || failed != nil:
		return errors.Join(err, failed)
	case len(report.Findings) > 0:
		return cli.ErrNo
	}
	return nil
}

// checkGateways refuses what is no address in --gateway. JETON_GATEWAY may be a URL, for other verbs: its address is taken.
func (d *doctorConfig) checkGateways() error {
	for i, address := range d.gateways {
		_, at, isURL := strings.Cut(strings.TrimSpace(address), "://")
		if !isURL {
			at = strings.TrimSpace(address)
		}
		d.gateways[i] = strings.TrimSuffix(at, "/")
		host, port, err := net.SplitHostPort(d.gateways[i])
		if err == nil && host != "" {
			_, err = net.LookupPort("tcp", port) //nolint:noctx // it asks no server
		}
		if err != nil || host == "" || port == "" {
			return fmt.Errorf("--gateway: %q is no address: write HOST:PORT, such as edge-1:443", address)
		}
	}
	return nil
}

// cluster asks the node of --server about its cluster.
func (d *doctorConfig) cluster(cmd *cobra.Command) (*facts.Cluster, error) {
	c, err := d.remote.connect()
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // the answers have been read
	found, err := facts.OfCluster(cmd.Context(), facts.ClusterConfig{Client: c, Server: d.remote.server, Within: d.remote.timeout, Gateways: d.gateways})
	return found, d.remote.explain(cmd.Context(), err)
}
