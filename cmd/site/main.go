// Command site makes the documentation a site of static pages: README.md, the other pages at the top of the repository, what is
// under docs, and the files that they link to. "make site" runs it.
//
// What it does, in order: [readTree] lists the files, [book] reads every page that can be reached and resolves its links, [arrange]
// puts the pages in the groups of README.md, [layout] writes them with their parts around them, [indexOf] makes the index of the search,
// and [check] follows every link of what was written. A site is a map from names to contents until all of that is done, so that one
// that has a mistake is not written at all.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is the command.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	root := flags.String("root", "../..", "the folder of the repository")
	into := flags.String("into", "../../site", "the folder that the site is written into; what a site had there before is removed")
	base := flags.String("base", "/", "the path at which the site will stand, for the links of 404.html: all others are relative")
	links := flags.Bool("links", false, "print the links to other hosts, with the pages that have them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("site takes no arguments, only options: %q", flags.Args())
	}
	began := time.Now()
	made, err := build(*root, *base)
	if err != nil {
		return err
	}
	if err := write(*into, made.files); err != nil {
		return err
	}
	if *links {
		for _, l := range made.external {
			fmt.Fprintln(out, l)
		}
	}
	size := 0
	for _, content := range made.files {
		size += len(content)
	}
	fmt.Fprintf(out, "%s: %d pages, %d files of the repository, %d links to other hosts; %.1f MB in %d files, index of the search %.0f kB; %.1f s\n",
		*into, made.pages, made.sources, len(made.external), float64(size)/1e6, len(made.files), float64(len(made.files[indexFile]))/1e3, time.Since(began).Seconds())
	return nil
}

// A site is what is to be written.
type site struct {
	files          map[string][]byte // by path, with slashes
	external       []string          // links to other hosts, each with the first page that has it; sorted
	pages, sources int
}

// build makes the site of the repository in a folder. Its error has all that is wrong.
func build(root, base string) (site, error) {
	t, err := readTree(root)
	if err != nil {
		return site{}, err
	}
	b, err := readBook(t)
	if err != nil {
		return site{}, err
	}
	groups, err := arrange(b)
	if err != nil {
		return site{}, err
	}
	l, err := newLayout(b, groups, base)
	if err != nil {
		return site{}, err
	}
	files, err := l.write()
	if err != nil {
		return site{}, err
	}
	maps.Copy(files, b.pictures)
	files[indexFile] = indexOf(l.inOrder).script()
	if broken := check(files, base); len(broken) > 0 {
		return site{}, errors.Join(broken...)
	}
	return site{files, b.externalLinks(), len(b.pages), len(b.sources)}, nil
}
