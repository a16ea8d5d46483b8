package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

type options struct {
	epsilon  time.Duration
	key      string
	output   string
	file     string
	checkers []string
}

func parse(args []string, errs io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.DurationVar(&o.epsilon, "epsilon", 5*time.Millisecond, "how far a clock of the limiter may be from the callers'")
	flags.StringVar(&o.key, "key", "", "check this key only")
	flags.StringVar(&o.output, "output", "table", "table or json")
	flags.Usage = func() { usage(flags, errs) }
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() == 0 {
		return o, errors.New("the FILE with the history is missing; - reads it from the standard input")
	}
	o.file, o.checkers = flags.Arg(0), flags.Args()[1:]
	if o.output != "table" && o.output != "json" {
		return o, fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	if o.epsilon < 0 {
		return o, fmt.Errorf("--epsilon: %v is negative", o.epsilon)
	}
	names := names()
	for _, c := range o.checkers {
		if !slices.Contains(names, c) {
			return o, fmt.Errorf("%q is not a checker: there are %s (flags stand before the FILE)", c, strings.Join(names, ", "))
		}
	}
	return o, nil
}

func names() []string {
	var all []string
	for _, c := range history.Checkers() {
		all = append(all, c.Name)
	}
	return all
}

func usage(flags *flag.FlagSet, errs io.Writer) {
	fmt.Fprint(errs, "usage: check [flags] FILE [checker …]\n\nFILE is a history, - for the standard input. The checkers are\n")
	for _, c := range history.Checkers() {
		fmt.Fprintf(errs, "  %-10s %s\n", c.Name, c.Doc)
	}
	fmt.Fprint(errs, "Without one, all run. The flags are\n")
	flags.PrintDefaults()
	fmt.Fprint(errs, "\nexample: check --epsilon 1ms --key user:42 history.jsonl disjoint windows\n")
}
