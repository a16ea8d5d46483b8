package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// start is the page from which every other one can be reached.
const start = "README.md"

// A book is every page that can be reached, with all links resolved.
type book struct {
	tree     *tree
	pages    map[string]*page  // by their file
	order    []string          // in which they were reached
	sources  map[string]string // files that pages link to, and are no pages, with their text
	folders  map[string]bool   // folders that pages link to
	pictures map[string][]byte
	external map[string]string // links to other hosts, with the first page that has them
}

// readBook reads README.md, all pages beside it, and what they lead to.
func readBook(t *tree) (*book, error) {
	b := &book{t, map[string]*page{}, []string{start}, map[string]string{}, map[string]bool{}, map[string][]byte{}, map[string]string{}}
	for _, name := range t.names {
		if isPage(name) && !strings.Contains(name, "/") && name != start {
			b.order = append(b.order, name)
		}
	}
	var broken []error
	for read := 0; read < len(b.order); { // the list grows
		if err := b.add(b.order[read]); err != nil {
			broken = append(broken, err)
		}
		read++
	}
	for _, name := range t.names {
		if isPage(name) && strings.HasPrefix(name, "docs/") && !slices.Contains(b.order, name) {
			broken = append(broken, fmt.Errorf("%s: no page leads to it: link to it in %s, under Pages, or in a page that is linked to", name, start))
		}
	}
	for folder := range b.folders {
		for _, entry := range t.folders[folder] {
			if name := folder + "/" + entry; t.folders[name] == nil {
				if err := b.addSource(name); err != nil {
					broken = append(broken, err)
				}
			}
		}
	}
	return b, errors.Join(broken...)
}

func isPage(name string) bool { return strings.HasSuffix(name, ".md") }

// add reads a page, and remembers what it links to.
func (b *book) add(name string) error {
	content, ok, err := b.tree.read(name)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%s: there is no such page", name)
	case !utf8.Valid(content):
		return fmt.Errorf("%s: the page is not UTF-8", name)
	}
	p, err := readPage(name, content)
	if err != nil {
		return err
	}
	b.pages[name] = p
	return b.resolve(p)
}

// addPage remembers a page that is linked to.
func (b *book) addPage(name string) {
	if !slices.Contains(b.order, name) {
		b.order = append(b.order, name)
	}
}

// addSource reads a file that is no page.
func (b *book) addSource(name string) error {
	if b.sources[name] != "" {
		return nil
	}
	content, _, err := b.tree.read(name)
	if err != nil {
		return err
	}
	if !utf8.Valid(content) {
		return fmt.Errorf("%s: the file is no text, so it cannot be shown", name)
	}
	b.sources[name] = string(content)
	return nil
}

// externalLinks are the links to other hosts, each with a page that has it.
func (b *book) externalLinks() []string {
	var all []string
	for link, page := range b.external {
		all = append(all, link+" in "+page)
	}
	slices.Sort(all)
	return all
}
