package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// pictures are the files that a page can show.
var pictures = []string{".svg", ".png"}

// resolve makes the links of a page those of the site, and reads what they lead to. Links to other hosts stay.
func (b *book) resolve(p *page) error {
	var broken []error
	_ = ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function has no errors
		var err error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination, err = b.link(p, n, n.Destination)
		case *ast.Image:
			n.Destination, err = b.picture(p, n.Destination)
			if plainText(n, p.text) == "" {
				err = errors.Join(err, errors.New("a picture says what it shows, for those who do not see it: ![what](file)"))
			}
		case *ast.AutoLink:
			if n.AutoLinkType == ast.AutoLinkEmail {
				err = fmt.Errorf("%s: addresses of mail are not linked: put it in `code`", n.Label(p.text))
				break
			}
			_, err = b.link(p, nil, n.URL(p.text))
		}
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", p.near(n), err))
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(broken...)
}

// link is where a link leads within the site.
func (b *book) link(p *page, from *ast.Link, destination []byte) ([]byte, error) {
	to, err := url.Parse(string(destination))
	if err != nil {
		return nil, fmt.Errorf("%s: the link is no address", destination)
	}
	if to.Scheme != "" || to.Host != "" {
		if to.Scheme != "https" && (to.Scheme != "http" || to.Hostname() != "localhost") {
			return nil, fmt.Errorf("%s: a link is to https, or within the repository", destination)
		}
		if _, known := b.external[to.String()]; !known {
			b.external[to.String()] = p.source
		}
		return destination, nil
	}
	if to.Path == "" {
		return destination, nil
	}
	name := path.Join(path.Dir(p.source), to.Path)
	var written string
	_, file := slices.BinarySearch(b.tree.names, name)
	switch {
	case file && isPage(name):
		b.addPage(name)
		p.leads = append(p.leads, lead{from, name})
		written = addressOf(name)
	case file && slices.Contains(pictures, path.Ext(name)):
		_, err := b.picture(p, destination)
		return relative(addressOf(p.source), name), err
	case file:
		if err := b.addSource(name); err != nil {
			return nil, err
		}
		written = addressOf(name)
	case b.tree.folders[name] != nil && name != ".":
		b.folders[name] = true
		written = folderAddress(name)
	default:
		return nil, fmt.Errorf("%s: the link leads nowhere: there is no %s", destination, name)
	}
	dest := relative(addressOf(p.source), written)
	if to.Fragment != "" {
		dest = append(dest, "#"+to.EscapedFragment()...)
	}
	return dest, nil
}

// picture is where a picture stands within the site.
func (b *book) picture(p *page, destination []byte) ([]byte, error) {
	to, err := url.Parse(string(destination))
	if err != nil || to.Scheme != "" || to.Host != "" || !slices.Contains(pictures, path.Ext(to.Path)) {
		return nil, fmt.Errorf("%s: a picture is a file of the repository that ends with %s", destination, strings.Join(pictures, " or "))
	}
	name := path.Join(path.Dir(p.source), to.Path)
	content, ok, err := b.tree.read(name)
	if err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("%s: there is no picture %s", destination, name))
	}
	if path.Ext(name) == ".svg" && bytes.Contains(content, []byte("<script")) {
		return nil, fmt.Errorf("%s: a picture has no script", name)
	}
	b.pictures[name] = content
	return relative(addressOf(p.source), name), nil
}

// addressOf is the place of a page, or of a page that shows a file, within the site.
func addressOf(name string) string {
	switch {
	case name == start:
		return "index.html"
	case isPage(name):
		return strings.TrimSuffix(name, ".md") + ".html"
	}
	return name + ".html"
}

// folderAddress is the place of the page that lists a folder.
func folderAddress(folder string) string { return folder + "/index.html" }

// relative is how a page names another file of the site.
func relative(from, to string) []byte {
	rel, err := filepath.Rel(filepath.Dir(filepath.FromSlash(from)), filepath.FromSlash(to))
	if err != nil { // both are relative
		return []byte(to)
	}
	return []byte(filepath.ToSlash(rel))
}
