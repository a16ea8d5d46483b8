package main

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// A document is what matters of a file of HTML here.
type document struct {
	names  map[string]bool // ids of elements
	leads  []string        // what it links to or loads
	broken []error
}

// check follows every link of a site, and is what is wrong with it.
func check(files map[string][]byte, base string) (broken []error) {
	documents := map[string]document{}
	for name, content := range files {
		if path.Ext(name) == ".html" {
			documents[name] = readDocument(content)
		}
	}
	for name, d := range documents {
		for _, err := range d.broken {
			broken = append(broken, fmt.Errorf("%s: %w", name, err))
		}
		for _, lead := range d.leads {
			if err := follow(files, documents, base, name, lead); err != nil {
				broken = append(broken, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	slices.SortFunc(broken, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return broken
}

// readDocument reads a file of HTML.
func readDocument(content []byte) document {
	d := document{names: map[string]bool{}}
	say := func(format string, args ...any) { d.broken = append(d.broken, fmt.Errorf(format, args...)) }
	for z := html.NewTokenizer(bytes.NewReader(content)); z.Next() != html.ErrorToken; {
		token := z.Token()
		for _, a := range token.Attr {
			switch {
			case a.Key == "id" && d.names[a.Val]:
				say("two elements have the name %q", a.Val)
			case a.Key == "id":
				d.names[a.Val] = true
			case a.Key == "href" || a.Key == "src":
				d.leads = append(d.leads, a.Val)
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				say("<%s> has the attribute %s, which the policy of the page refuses", token.Data, a.Key)
			}
		}
		if token.Type == html.StartTagToken && (token.Data == "style" || token.Data == "script" && !slices.ContainsFunc(token.Attr, func(a html.Attribute) bool { return a.Key == "src" })) {
			say("<%s> stands in the page, which its policy refuses", token.Data)
		}
	}
	return d
}

// follow is what is wrong with a link.
func follow(files map[string][]byte, documents map[string]document, base, from, lead string) error {
	to, err := url.Parse(lead)
	if err != nil {
		return fmt.Errorf("the link %q is no address", lead)
	}
	if to.Scheme != "" || to.Host != "" {
		return nil // those are judged where pages are read
	}
	name := from
	if inside, absolute := strings.CutPrefix(to.Path, base); absolute && from == "404.html" {
		name = inside
	} else if to.Path != "" {
		name = path.Join(path.Dir(from), to.Path)
	}
	switch {
	case files[name] == nil:
		return fmt.Errorf("the link %q leads nowhere", lead)
	case to.Fragment != "" && !documents[name].names[to.Fragment]:
		return fmt.Errorf("the link %q leads to %s, which has no heading of that name", lead, name)
	}
	return nil
}
