package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/internal/spelling"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// Lookup is [os.LookupEnv].
type Lookup func(name string) (value string, ok bool)

// ConfigOption names the file from which options are read.
const ConfigOption = "config"

// OwnDocument marks a ConfigOption whose file is no file with options, but a document that the verb reads itself.
const OwnDocument = "own document"

// Fill is what a program does with the options of a verb before it runs, for options that are read besides. The error says what is wrong.
func Fill(flags *pflag.FlagSet, env Lookup) error { return fillOptions(flags, env) }

// fillOptions sets every option that the command line leaves open: from the environment, where --listen-grpc is
// JETON_LISTEN_GRPC, or else from the file named by --config, where it is the field listen-grpc. So an option is
// defined once, as a flag, and is the same everywhere.
func fillOptions(flags *pflag.FlagSet, env Lookup) error {
	given := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) { given[f.Name] = f.Changed || f.Name == "help" })
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableOf(f.Name)
		value, ok := env(name)
		if given[f.Name] || !ok {
			return
		}
		given[f.Name] = true
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, plainly(err)))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	f := flags.Lookup(ConfigOption)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	if _, own := f.Annotations[OwnDocument]; !own {
		return fillFromFile(flags, given, f.Value.String())
	}
	return nil
}

// maxProblems is how many problems of a file of options are told.
const maxProblems = 20

// fillFromFile reads a YAML mapping from options to values, strictly. The error has a line for each problem, up to maxProblems.
func fillFromFile(flags *pflag.FlagSet, given map[string]bool, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var errs []error
	report := func(p *strictyaml.Problem) {
		errs = append(errs, fmt.Errorf("%s:%d: %s: %s", path, p.Line, p.Path, p.Text))
	}
	fields, problem := strictyaml.Root(text)
	switch {
	case problem != nil:
		report(problem)
	case fields != nil:
		strictyaml.EachField(fields, "", report, func(key, value *yaml.Node) {
			if err := fillOption(flags, given, key.Value, value); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %s: %w", path, key.Line, key.Value, err))
			}
		})
	}
	if more := len(errs) - maxProblems; more > 0 {
		errs = append(errs[:maxProblems], fmt.Errorf("%s: %d more problems", path, more))
	}
	return errors.Join(errs...)
}

// fillOption sets an option to a value of a file, unless it is given already.
func fillOption(flags *pflag.FlagSet, given map[string]bool, name string, value *yaml.Node) error {
	f := flags.Lookup(name)
	switch {
	case f == nil || f.Name == ConfigOption || f.Name == "help":
		return notAnOption(flags, name)
	case value.Kind != yaml.ScalarNode && !isList(f, value):
		return fmt.Errorf("is %s: write a single value", strictyaml.Kind(value))
	case value.ShortTag() == "!!null":
		return errors.New("is empty: give it a value, or leave it out")
	case given[f.Name]:
		return nil
	}
	return plainly(flags.Set(f.Name, textOf(value)))
}

// notAnOption is the error of a field that is no option of a file, with the option that is probably meant.
func notAnOption(flags *pflag.FlagSet, name string) error {
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != ConfigOption && f.Name != "help" {
			known = append(known, f.Name)
		}
	})
	if meant := spelling.Near(name, known); meant != "" {
		return fmt.Errorf("is not an option: did you mean %s?", meant)
	}
	return errors.New("is not an option: see jeton serve --help")
}

// isList says whether an option that takes several values is given a list of them.
func isList(f *pflag.Flag, value *yaml.Node) bool {
	_, several := f.Value.(pflag.SliceValue)
	return several && value.Kind == yaml.SequenceNode &&
		!slices.ContainsFunc(value.Content, func(v *yaml.Node) bool { return v.Kind != yaml.ScalarNode })
}

// textOf is a value as the command line has it: a list with commas.
func textOf(value *yaml.Node) string {
	if value.Kind != yaml.SequenceNode {
		return value.Value
	}
	var all []string
	for _, v := range value.Content {
		all = append(all, v.Value)
	}
	return strings.Join(all, ",")
}

// plainly says what is wrong with the value of an option, and what it takes.
func plainly(err error) error {
	wrong, is := errors.AsType[*pflag.InvalidValueError](err)
	if !is {
		return err
	}
	if errors.Is(wrong, strconv.ErrRange) {
		return fmt.Errorf("%q is out of range: give a number between %d and %d", wrong.GetValue(), math.MinInt64, math.MaxInt64)
	}
	var takes string
	switch wrong.GetFlag().Value.Type() {
	case "int", "int64":
		takes = "a whole number"
	case "uint64":
		takes = "a whole number from 0 on"
	case "bool":
		takes = "true or false"
	case "duration":
		takes = "a duration, such as 500ms, 5s or 48h; there is no unit above hours"
	default:
		return wrong.Unwrap()
	}
	return fmt.Errorf("%q is not %s", wrong.GetValue(), takes)
}
