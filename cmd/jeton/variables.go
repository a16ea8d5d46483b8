package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// warnOfVariables says which variables of an environment, each name=value, jeton would read if they had another name. It is no
// error: an older or a newer jeton may know them.
func warnOfVariables(environment []string, to io.Writer) {
	known := variables(rootVerb(os.LookupEnv))
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, prefix) || foreign.MatchString(name) || slices.Contains(known, name) {
			continue
		}
		fmt.Fprintf(&terminal{to: to}, "jeton: warning: the environment variable %s is not known: is %s meant?\n", name, nearest(name, known))
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

// nearest is the name that takes the fewest changes of a letter, of which there is one.
func nearest(name string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance is how many letters have to be put in, taken out or changed to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
