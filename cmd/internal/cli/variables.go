package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jeton-dev/jeton/internal/spelling"
)

// prefix begins the names of all environment variables that jeton reads.
const prefix = "JETON_"

// foreign are variables with that prefix that are set by others for their own ends: those that Kubernetes makes of a service with
// the name jeton, and those of jeton's own tests.
var foreign = regexp.MustCompile(`^JETON_(.+_)?(SERVICE_(HOST|PORT)(_.+)?|PORT(_[0-9]+_(TCP|UDP)(_.+)?)?)$` +
	`|^JETON_(FAULT_CLOCK|TEST|SIMULATE|MUTANTS|STORAGE)(_.+)?$`)

// variableOf is the environment variable of an option.
func variableOf(option string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(option, "-", "_"))
}

// IsOwn says whether an environment variable has a name of jeton's that nothing else sets for its own ends.
func IsOwn(name string) bool { return strings.HasPrefix(name, prefix) && !foreign.MatchString(name) }

// WarnOfVariables says which variables of an environment, each name=value, jeton would read if they had another name. It is no
// error: an older or a newer jeton may know them.
func WarnOfVariables(root *cobra.Command, environment []string, to io.Writer) {
	known := variables(root)
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if !IsOwn(name) || slices.Contains(known, name) {
			continue
		}
		fmt.Fprintf(&Terminal{To: to}, "jeton: warning: the environment variable %s is not known: did you mean %s?\n", name, spelling.Nearest(name, known))
	}
}

// variables are those of all options of a verb and those under it.
func variables(of *cobra.Command) (names []string) {
	add := func(f *pflag.Flag) { names = append(names, variableOf(f.Name)) }
	of.Flags().VisitAll(add)
	of.PersistentFlags().VisitAll(add)
	for _, verb := range of.Commands() {
		names = append(names, variables(verb)...)
	}
	return names
}
