// Command regions runs clusters in several regions, with links between them that take time, and measures what each way to limit requests everywhere costs.
//
//	go run ./cluster-tests/regions --link 50ms --for 5s
//
// Clusters and gateways run in this process, and speak over loopback. A cluster in another region is behind a [link], which delivers each byte later. The recipes
// are in recipe.go; docs/regions.md says when to choose which, and has the figures. A run fails if more was admitted than a recipe says.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	var s settings
	flag.DurationVar(&s.link, "link", 50*time.Millisecond, "how `long` a byte travels between two regions, one way")
	flag.DurationVar(&s.length, "for", 5*time.Second, "how `long` each recipe is measured")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64N(1<<32), "the `number` by which requests are drawn")
	flag.Parse()
	if s.link < 0 || s.link > time.Second || s.length <= 0 {
		log.Fatal("--link is at least 0s and at most 1s, and --for more than 0s")
	}
	if err := report(context.Background(), os.Stdout, s); err != nil {
		log.Fatal(err)
	}
}

// report runs all recipes, and writes a table of what came of them.
func report(ctx context.Context, w io.Writer, s settings) error {
	fmt.Fprintf(w, "A round trip between regions takes %v. Seed %d.\n\n", 2*s.link, s.seed)
	fmt.Fprintln(w, "| recipe | added, p50 | added, p99 | of a first check | admitted of what may be |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, r := range recipes() {
		o, err := run(ctx, r, s)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d of %d |\n", r.name, millis(o.calm.at(0.5)-o.bare.at(0.5)), millis(o.calm.at(0.99)-o.bare.at(0.99)),
			millis(o.first.at(0.5)-o.bare.at(0.5)), o.admitted, o.bound)
		if o.admitted > o.bound {
			return fmt.Errorf("%s: %d requests of a key were admitted, and %d may be; again with --seed %d", r.name, o.admitted, o.bound, s.seed)
		}
	}
	return nil
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(max(d, 0))/float64(time.Millisecond))
}
