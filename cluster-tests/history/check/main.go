// Command check judges a history of checks that was written to a file: whether the limits held, and whether enough was
// admitted. It needs nothing but the file, and knows nothing of how the limiter works inside.
//
//	go run ./cluster-tests/history/check [flags] FILE [checker …]
//
// It exits with 0 if nothing is wrong, 1 if a checker has found something, and 2 if there is nothing to judge: a bad file, a
// bad flag. Start with main, which says what there is to give.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

const (
	held     = 0
	violated = 1
	unusable = 2
)

type options struct {
	epsilon  time.Duration
	key      string
	output   string
	file     string
	checkers []string
}

// run is the command without its process. A FILE of "-" is in.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	o, err := parse(args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return held
	case err != nil:
		fmt.Fprintln(errs, "check:", err)
		return unusable
	}
	debug.SetGCPercent(50) // a long history fills the memory; there is little else
	h, err := load(o, in)
	if err != nil {
		fmt.Fprintln(errs, "check:", err)
		return unusable
	}
	results, err := history.RunKey(h, int64(o.epsilon), o.key, o.checkers...)
	if err != nil {
		fmt.Fprintln(errs, "check:", err)
		return unusable
	}
	if err := show(o, h, results, out); err != nil {
		fmt.Fprintln(errs, "check:", err)
		return unusable
	}
	if slices.ContainsFunc(results, func(r history.Result) bool { return r.Found > 0 }) {
		return violated
	}
	return held
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

// load reads the history.
func load(o options, in io.Reader) (*history.History, error) {
	name := "the standard input"
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		in, name = bufio.NewReaderSize(f, 1<<20), o.file
	}
	h, err := history.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}
