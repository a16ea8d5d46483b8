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
