// Package cli is what the commands of jeton share: it runs a command line, and ends with an exit code.
//
// An option is defined once, as a flag, and is filled from the command line, the environment or a file (options.go). A wrong
// word is an error that names what was probably meant (arguments.go, variables.go). What is printed cannot steer a terminal
// (terminal.go). Shells complete what can be typed (completion.go). Values of options are a [Choice] or a [Size]; a [Credential] is what a command shows to a node.
//
// Start with [Run].
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	ExitOK    = 0
	ExitNo    = 1
	ExitError = 2
)

// ErrNo ends a command that was asked something and has printed that the answer is no, such as a check that is denied: it has an
// exit code of its own and no message.
var ErrNo = errors.New("the answer is no")

// Prepare has a program and all its commands fill their options from env too, check their arguments, and explain mistakes. Call
// it when all commands are there.
func Prepare(root *cobra.Command, env Lookup) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return fillOptions(cmd.Flags(), env) }
	root.SetFlagErrorFunc(wrongFlag)
	checkArguments(root)
	checkHelp(root)
}

// Run runs a program that was prepared, and returns its exit code.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = &Terminal{To: stdout}, &Terminal{To: stderr}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	complete(root)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrNo):
		return ExitNo
	default:
		fmt.Fprintln(stderr, "jeton:", err)
		return ExitError
	}
}
