// Command planet simulates the limits of a whole planet: 300 edges in 60 cities, three regions with a cluster each, and 45 million checks a second of a million keys. What decides is production's own
// code, the shares of edges (actor/lease), owners (actor/owner) and replicas (storage/register), in virtual time, without goroutines.
//
//	go run ./cluster-tests/planet --scenario day --seed 7
//
// It cannot simulate every check. Keys have nothing in common that decides, so each is a [world] of its own, and a sample of them is enough (sample.go). What a key's limit admits is
// judged by plain arithmetic that shares no code with what decides (judge.go). Each consistency of limits is a [policy]: another one is a function and a line in policy.go.
// docs/planet.md has results, and says what is left out.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	var s settings
	flag.Uint64Var(&s.seed, "seed", rand.Uint64N(1<<32), "the `number` by which everything is drawn")
	flag.Float64Var(&s.seconds, "seconds", 0, "how `long` each run is; 0 for what the scenario has")
	flag.Float64Var(&s.scale, "scale", 1, "how large the sample of keys is, as a `factor`")
	flag.Float64Var(&s.used, "used", 0.9, "the `part` of its limit that each key uses")
	flag.Float64Var(&s.fill, "fill", 10, "the `seconds` in which a bucket fills")
	only := flag.String("scenario", "", "the `names` of the scenarios to run, with commas; all if empty")
	by := flag.String("consistency", "", "the `names` of the consistencies to run: strong, leased, eventual, local/divided and local/per-edge, with commas; all if empty")
	list := flag.Bool("list", false, "list the scenarios, and run none")
	into := flag.String("draw", "", "draw the pictures of docs/planet.md into this `folder`, and run nothing")
	flag.Parse()
	if *list {
		for _, sc := range scenarios() {
			fmt.Fprintf(os.Stdout, "%-12s%s\n", sc.name, sc.doc)
		}
		return
	}
	if *into != "" {
		if err := draw(*into); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := report(os.Stdout, os.Stderr, s, *only, *by); err != nil {
		log.Fatal(err)
	}
}

// report runs scenarios and writes what came of them. An error means that the settings make no sense, or that more was admitted than a limit allows.
func report(w, progress io.Writer, s settings, only, consistencies string) error {
	chosen, err := choose("--scenario", only, scenarios(), func(sc *scenario) string { return sc.name })
	if err != nil {
		return err
	}
	by, err := choose("--consistency", consistencies, policies(), func(p *policy) string { return p.name })
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	head(w, &s)
	var rs []*result
	for _, sc := range chosen {
		for _, p := range by {
			r := run(s, sc, p)
			fmt.Fprintf(progress, "%s, %s: %d keys, %d checks or batches\n", sc.name, p.name, r.keys, r.checked)
			rs = append(rs, r)
		}
	}
	table(w, rs, decisions())
	fmt.Fprintln(w)
	table(w, rs, costs())
	for _, r := range rs {
		if r.scenario.perClass {
			fmt.Fprintf(w, "\n%s, `%s`:\n\n", r.scenario.doc, r.policy.name)
			classes(w, r)
		}
	}
	fmt.Fprintln(w)
	judged(w, rs)
	for _, r := range rs {
		if r.beyond > 0 {
			return fmt.Errorf("seed %d: %s, %s: %.3f tokens more were admitted than is promised", s.seed, r.scenario.name, r.policy.name, r.beyond)
		}
	}
	return nil
}

// choose are those of all that an option names, with commas; all for none.
func choose[T any](option, names string, all []*T, nameOf func(*T) string) ([]*T, error) {
	if names == "" {
		return all, nil
	}
	var chosen []*T
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(one *T) bool { return nameOf(one) == name })
		if i < 0 {
			return nil, fmt.Errorf("%s: there is no %q; --list lists the scenarios, --help the consistencies", option, name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
