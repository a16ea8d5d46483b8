// Command jeton runs and asks a distributed rate limiter whose limits hold. See "jeton --help".
//
// A file holds one command, or one concern of several, and makes it from main.go downwards:
//
//	serve, memory, processors            a node as a process
//	dev, dev_…, swarm, child             three nodes and a gateway, as processes of this one
//	gateway, gateway_document, keys      a gateway as a process, its document, its API keys
//	check, bucket, limits…, cluster, audit   questions to a node, over remote
//	top, top_looks, bucket_watch, every  questions that are asked again and again; top_live the screen that shows the answers
//	doctor, doctor_machine               what is wrong with a machine and a cluster: facts and judgement are packages below
//	hold, holds, settle                  likewise: costs that are estimates
//	explain                              why a request was denied: a question to a gateway
//	simulate                             limits against a log: no server, one call of cmd/simulate
//	bench                                hands on to jeton-bench
//	health                               whether one process is ready, for supervisors
//	version, man                         what the binary tells of itself
//
// It is one package because each command is little more than its flags and one call of a package below: cmd/node,
// cmd/gateway, rpc/client, gateway/keys. What the commands share with jeton-bench is cmd/internal/cli.
package main

//go:generate go test -count=1 -run ^TestOptionsAreCurrent$ . -args -update

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	hangup := make(chan os.Signal, 1)
	if len(os.Args) > 1 && (os.Args[1] == serveName || os.Args[1] == gatewayName) { // which ask again, should options come first
		signal.Notify(hangup, syscall.SIGHUP) // a SIGHUP that is not asked for ends the process
	}
	if len(os.Args) < 2 || os.Args[1] != benchName { // jeton-bench has options that this program does not know
		cli.WarnOfVariables(rootVerb(hangup, os.LookupEnv), os.Environ(), os.Stderr)
	}
	code := run(ctx, hangup, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: its arguments and surroundings in, its exit code out. Commands that reload ask for SIGHUP on hangup.
func run(ctx context.Context, hangup chan os.Signal, args []string, env cli.Lookup, stdout, stderr io.Writer) int {
	return cli.Run(ctx, rootVerb(hangup, env), args, stdout, stderr)
}

// rootVerb is the program with all its verbs, whose options come from env where the command line leaves them open.
func rootVerb(hangup chan os.Signal, env cli.Lookup) *cobra.Command {
	root := &cobra.Command{
		Use:   "jeton",
		Short: "A distributed rate limiter whose limits hold",
		Long: "jeton is a distributed rate limiter whose limits hold, through crashes, partitions and restarts.\n\n" +
			"Exit codes: 0 done, or the answer is yes; 1 the answer is no: a check is denied, limits diff shows a difference,\n" +
			"cluster status that no key can be decided, or doctor has found something; 2 error.",
		Version: thisVersion().String(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(serveVerb(hangup), devVerb(), gatewayVerb(hangup), keysVerb(), explainVerb(), checkVerb(), holdVerb(), holdsVerb(), settleVerb(), bucketVerb(), limitsVerb(), clusterVerb(),
		auditVerb(), topVerb(), doctorVerb(env), healthVerb(), versionVerb(), benchVerb(), simulateVerb(), manVerb())
	cli.Prepare(root, env)
	return root
}
