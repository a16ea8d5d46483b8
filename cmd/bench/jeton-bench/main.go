// Command jeton-bench measures nodes, clusters and gateways of jeton. "jeton bench" runs it: see "jeton bench --help".
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
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: its arguments and surroundings in, its exit code out.
func run(ctx context.Context, args []string, env cli.Lookup, stdout, stderr io.Writer) int {
	return cli.Run(ctx, rootVerb(env), args, stdout, stderr)
}

// rootVerb is the program with all its verbs, whose options come from env where the command line leaves them open.
func rootVerb(env cli.Lookup) *cobra.Command {
	root := loadVerb()
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "jeton bench"} // as people call it
	root.AddCommand(tableVerb(), stagesVerb(), httpVerb(), noopVerb(), httpServerVerb(), floodVerb(), floodClientVerb())
	cli.Prepare(root, env)
	return root
}
