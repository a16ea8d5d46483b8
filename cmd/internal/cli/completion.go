package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// complete gives a program the verb that prints what a shell needs to complete its command lines, and says what completes what:
// an option that is a [Choice] its values, an argument files only where it names one. The verb refuses arguments as all others do, and prints
// to where the program prints at the time of this call.
func complete(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if verb, _, err := root.Find([]string{"completion"}); err == nil && verb != root {
		verb.Args, verb.RunE = takesWhatItNames, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		verb.Example = "  " + root.Name() + " completion bash > ~/.local/share/bash-completion/completions/" + root.Name()
		for _, below := range verb.Commands() {
			below.Args = takesWhatItNames
			below.Example = "  " + below.CommandPath() + " > " + root.Name() + "." + below.Name()
		}
	}
	completeValues(root)
}

// completeValues does so for a verb and all below it.
func completeValues(verb *cobra.Command) {
	if verb.ValidArgsFunction == nil && !strings.Contains(verb.Use, "FILE") && !strings.Contains(verb.Use, "LOG") {
		verb.ValidArgsFunction = cobra.NoFileCompletions
	}
	verb.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if choice, is := f.Value.(*Choice); is {
			values := cobra.FixedCompletions(choice.choices, cobra.ShellCompDirectiveNoFileComp)
			if err := verb.RegisterFlagCompletionFunc(f.Name, values); err != nil {
				panic(err) // the verb has no such option, or it was said twice
			}
		}
	})
	for _, below := range verb.Commands() {
		completeValues(below)
	}
}
