package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jeton-dev/jeton/internal/spelling"
)

// checkArguments has every verb that does not say otherwise take as many arguments as its first line names, and say what was
// meant by others.
func checkArguments(verb *cobra.Command) {
	if verb.Args == nil {
		verb.Args = takesWhatItNames
	}
	for _, below := range verb.Commands() {
		checkArguments(below)
	}
}

// takesWhatItNames checks the arguments of a verb by its first line, such as "bucket LIMIT KEY" or "apply -f FILE".
func takesWhatItNames(verb *cobra.Command, args []string) error {
	names := strings.Fields(verb.Use)[1:]
	if at := slices.IndexFunc(names, func(name string) bool { return name[0] == '-' }); at >= 0 {
		names = names[:at]
	}
	switch {
	case len(args) < len(names):
		return fmt.Errorf("%s is missing: use %s, as in %s", names[len(args)], verb.UseLine(), ExampleOf(verb))
	case len(args) == len(names):
		return nil
	case verb.HasSubCommands():
		return unknownVerb(verb, args[0])
	}
	extra := args[len(names)]
	if option := optionOfFile(verb); option != "" {
		return fmt.Errorf("%.64q: to name a file, say %s %s: see %s --help", extra, option, extra, verb.CommandPath())
	}
	return fmt.Errorf("%.64q is one argument too many: use %s", extra, verb.UseLine())
}

// ExampleOf is the first command line that shows how a verb is used.
func ExampleOf(verb *cobra.Command) string {
	example, _, _ := strings.Cut(strings.TrimSpace(verb.Example), "\n")
	return example
}

// optionOfFile is the option that names the file of a verb, where none was named; empty for none.
func optionOfFile(verb *cobra.Command) string {
	for _, name := range []string{"file", ConfigOption} {
		switch f := verb.Flags().Lookup(name); {
		case f == nil || f.Changed:
		case f.Shorthand != "":
			return "-" + f.Shorthand
		default:
			return "--" + name
		}
	}
	return ""
}

// unknownVerb is the error of a verb that has none below it of that name.
func unknownVerb(verb *cobra.Command, typed string) error {
	problem := fmt.Sprintf("unknown command %.64q of %s: ", typed, verb.CommandPath())
	if meant := meantVerb(verb, typed); meant != nil {
		return fmt.Errorf("%sdid you mean %s?", problem, meant.CommandPath())
	}
	if option := optionOfFile(verb); option != "" {
		return fmt.Errorf("%sto name a file, say %s %s: see %s --help", problem, option, typed, verb.CommandPath())
	}
	var names []string
	for _, below := range verb.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	return fmt.Errorf("%suse %s: see %s --help", problem, either(names), verb.CommandPath())
}

// meantVerb is the verb that was meant by what was typed below one: by another word for it, without the verb above it, or with a
// slip; nil for none.
func meantVerb(verb *cobra.Command, typed string) *cobra.Command {
	var names []string
	for _, below := range verb.Commands() {
		if slices.Contains(below.SuggestFor, typed) {
			return below
		}
		if at := slices.IndexFunc(below.Commands(), func(c *cobra.Command) bool { return c.Name() == typed }); at >= 0 {
			return below.Commands()[at]
		}
		names = append(names, below.Name())
	}
	if name := spelling.Near(typed, names); name != "" {
		return verb.Commands()[slices.Index(names, name)]
	}
	return nil
}

// Parse reads the options of a verb from the words that follow it, for a verb that is not run. The error says what is wrong, as that of the verb
// that is run.
func Parse(verb *cobra.Command, words []string) error {
	if err := verb.Flags().Parse(words); err != nil {
		return wrongFlag(verb, err)
	}
	return takesWhatItNames(verb, verb.Flags().Args())
}

// wrongFlag is the error of options that cannot be read, and what to do.
func wrongFlag(verb *cobra.Command, err error) error {
	if wrong, is := errors.AsType[*pflag.InvalidValueError](err); is {
		return fmt.Errorf("--%s: %w", wrong.GetFlag().Name, plainly(err))
	}
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is {
		return fmt.Errorf("%w: see %s --help", err, verb.CommandPath())
	}
	if before := verb.Flags().Args(); verb.HasSubCommands() && len(before) > 0 {
		return unknownVerb(verb, before[0]) // whose options these are
	}
	name, meant := unknown.GetSpecifiedName(), ""
	typed := "--" + name
	names := optionsOf(verb)
	if letters := unknown.GetSpecifiedShortnames(); letters == "" {
		meant = cmp.Or(suggested(verb, name), spelling.Near(name, names))
	} else if typed = "-" + letters; len(letters) > 1 {
		meant = spelling.Near(letters, names) // -file, as some programs have it
	} else {
		names = slices.DeleteFunc(names, func(name string) bool { return name[0] != letters[0] })
		if len(names) == 1 {
			meant = names[0]
		}
	}
	if meant != "" {
		meant = "did you mean --" + meant + "? "
	}
	return fmt.Errorf("unknown option %.64s: %ssee %s --help", typed, meant, verb.CommandPath())
}

// otherWords is the annotation of an option with other words for it.
const otherWords = "jeton-other-words"

// SuggestFor lets the error for an unknown option that is one of these words name an option of a verb, as SuggestFor of a verb does.
func SuggestFor(verb *cobra.Command, option string, words ...string) {
	if err := verb.Flags().SetAnnotation(option, otherWords, words); err != nil {
		panic(err) // the verb has no such option
	}
}

// suggested is the option of a verb for which typed is another word; empty for none.
func suggested(verb *cobra.Command, typed string) (option string) {
	verb.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[otherWords], typed) {
			option = f.Name
		}
	})
	return option
}

// optionsOf are the names of a verb's options.
func optionsOf(verb *cobra.Command) (names []string) {
	verb.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// either is a Choice in words: a, b or c.
func either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// checkHelp makes "help VERB" refuse an unknown verb with the error that the program gives.
func checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return // a program without verbs has no help
	}
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		at := root
		for _, name := range args {
			below, rest, err := at.Find([]string{name})
			if err != nil || below == at || len(rest) > 0 {
				return unknownVerb(at, name)
			}
			at = below
		}
		return at.Help()
	}
}
