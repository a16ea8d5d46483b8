package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Lookup is [os.LookupEnv].
type Lookup func(name string) (value string, ok bool)

// ConfigOption names the file from which options are read.
const ConfigOption = "config"

// OwnDocument marks a ConfigOption whose file is no file with options, but a document that the verb reads itself.
const OwnDocument = "own document"

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

// fillFromFile reads a YAML mapping from options to values, strictly: an unknown one is an error with its line.
func fillFromFile(flags *pflag.FlagSet, given map[string]bool, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	fields := doc.Content[0]
	if fields.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: is not a mapping of options, such as data: /var/lib/jeton", path, fields.Line)
	}
	seen := map[string]int{}
	for i := 0; i < len(fields.Content); i += 2 {
		key, value := fields.Content[i], fields.Content[i+1]
		where := fmt.Sprintf("%s:%d: %s", path, key.Line, key.Value)
		f := flags.Lookup(key.Value)
		switch {
		case f == nil || f.Name == ConfigOption || f.Name == "help":
			return fmt.Errorf("%s: is not an option: see jeton serve --help", where)
		case seen[key.Value] != 0:
			return fmt.Errorf("%s: stands in line %d already", where, seen[key.Value])
		case value.Kind != yaml.ScalarNode && !isList(f, value):
			return fmt.Errorf("%s: is not a single value", where)
		}
		seen[key.Value] = key.Line
		if given[f.Name] {
			continue
		}
		if err := flags.Set(f.Name, textOf(value)); err != nil {
			return fmt.Errorf("%s: %w", where, plainly(err))
		}
	}
	return nil
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
