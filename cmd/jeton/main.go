// Command jeton runs and asks a distributed rate limiter whose limits hold. See "jeton --help".
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes of every verb.
const (
	exitOK    = 0
	exitNo    = 1
	exitError = 2
)

// errNo ends a verb that was asked something and has shown that the answer is no, such as a check that is denied: it has an exit
// code of its own and no message.
var errNo = errors.New("the answer is no")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	warnOfVariables(os.Environ(), os.Stderr)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: its arguments and surroundings in, its exit code out.
func run(ctx context.Context, args []string, env lookup, stdout, stderr io.Writer) int {
	stdout, stderr = &terminal{to: stdout}, &terminal{to: stderr}
	root := rootVerb(env)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitOK
	case errors.Is(err, errNo):
		return exitNo
	default:
		fmt.Fprintln(stderr, "jeton:", err)
		return exitError
	}
}

// rootVerb is the program with all its verbs, whose options come from env where the command line leaves them open.
func rootVerb(env lookup) *cobra.Command {
	root := &cobra.Command{
		Use:   "jeton",
		Short: "A distributed rate limiter whose limits hold",
		Long: "jeton is a distributed rate limiter whose limits hold, through crashes, partitions and restarts.\n\n" +
			"Exit codes: 0 done, or the answer is yes; 1 the answer is no: a check is denied, limits diff shows a difference, or\n" +
			"cluster status that no key can be decided; 2 error.",
		Version:       thisBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return fillOptions(cmd.Flags(), env)
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(serveVerb(), devVerb(), gatewayVerb(), keysVerb(), explainVerb(), checkVerb(), bucketVerb(), limitsVerb(), clusterVerb(),
		versionVerb(), benchVerb())
	checkArguments(root)
	checkHelp(root)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(wrongFlag)
	return root
}
