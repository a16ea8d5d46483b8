package main

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
)

// policy is what a page may load: files of its own site, and nothing else. Scripts get no text that is run or made markup of; that the search
// names a file to load goes by the policy "jeton".
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
	"require-trusted-types-for 'script'; trusted-types jeton"

// assets are the files of the site that are not made of the repository's, and the template of a page.
//
//go:embed assets
var assets embed.FS

// A layout writes what stands around each page.
type layout struct {
	book     *book
	groups   []group
	inOrder  []*entry
	base     string
	template *template.Template
}

// A view is what the template shows.
type view struct {
	Policy                   string
	Root                     string // leads from the page to the top of the site; empty, or ends with a slash
	At                       string // the page's file
	Title, About             string
	Groups                   []group
	Contents                 []heading
	Body                     template.HTML
	Before, After            *entry
	Missing, Listing, Source bool // which kind of page it is, if none of the book
}

func newLayout(b *book, groups []group, base string) (*layout, error) {
	if !strings.HasPrefix(base, "/") || !strings.HasSuffix(base, "/") {
		return nil, fmt.Errorf("--base %q: the path of a site begins and ends with a slash, such as / or /docs/", base)
	}
	l := &layout{book: b, groups: groups, inOrder: flat(groups), base: base}
	var err error
	l.template, err = template.New("page.html").Funcs(template.FuncMap{"address": addressOf}).ParseFS(assets, "assets/page.html")
	return l, err
}

// write is all files of the site but for pictures and the index of the search.
func (l *layout) write() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range []string{"site.css", "theme.js", "search.js", "icon.svg"} {
		content, err := fs.ReadFile(assets, "assets/"+name)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	views := []view{{At: "404.html", Title: "No such page", About: "The address leads to no page.", Missing: true}}
	for i, e := range l.inOrder {
		v, err := l.pageView(e.page)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			v.Before = l.inOrder[i-1]
		}
		if i+1 < len(l.inOrder) {
			v.After = l.inOrder[i+1]
		}
		views = append(views, v)
	}
	for name, text := range l.book.sources {
		views = append(views, sourceView(name, text))
	}
	for folder := range l.book.folders {
		views = append(views, l.folderView(folder))
	}
	for _, v := range views {
		content, err := l.render(v)
		if err != nil {
			return nil, err
		}
		files[v.At] = content
	}
	return files, nil
}

// render writes one file.
func (l *layout) render(v view) ([]byte, error) {
	v.Policy, v.Groups = policy, l.groups
	v.Root = strings.Repeat("../", strings.Count(v.At, "/"))
	if v.Missing { // it is shown at any address
		v.Root = l.base
	}
	var out bytes.Buffer
	err := l.template.Execute(&out, v)
	return out.Bytes(), err
}

// pageView is a page of the book.
func (l *layout) pageView(p *page) (view, error) {
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.text, p.doc); err != nil {
		return view{}, fmt.Errorf("%s: %w", p.source, err)
	}
	v := view{At: addressOf(p.source), Title: p.title, About: p.about, Body: template.HTML(body.String())} //nolint:gosec // made of Markdown without HTML
	for _, h := range p.headings {
		if h.level == 2 || h.level == 3 {
			v.Contents = append(v.Contents, h)
		}
	}
	return v, nil
}

// sourceView is a page that shows a file which a page links to.
func sourceView(name, text string) view {
	language := strings.TrimPrefix(path.Ext(name), ".")
	body := `<h1><code>` + template.HTMLEscapeString(name) + `</code></h1><div class="code numbered"><pre><code>` + numbered(text, language) + `</code></pre></div>`
	return view{
		At: addressOf(name), Title: name, About: "The file " + name + " of the repository.", Source: true,
		Body: template.HTML(body), //nolint:gosec // all of it is escaped
	}
}

// folderView is a page that lists a folder which a page links to.
func (l *layout) folderView(folder string) view {
	var body strings.Builder
	fmt.Fprintf(&body, "<h1><code>%s</code></h1>\n<ul>\n", template.HTMLEscapeString(folder))
	for _, entry := range l.book.tree.folders[folder] {
		name := template.HTMLEscapeString(entry)
		if l.book.tree.folders[folder+"/"+entry] != nil {
			fmt.Fprintf(&body, "<li><code>%s/</code></li>\n", name)
		} else {
			fmt.Fprintf(&body, `<li><a href="%s"><code>%s</code></a></li>`+"\n", template.HTMLEscapeString(string(relative(folderAddress(folder), addressOf(folder+"/"+entry)))), name)
		}
	}
	body.WriteString("</ul>\n")
	return view{
		At: folderAddress(folder), Title: folder, About: "The files of the folder " + folder + " of the repository.", Listing: true,
		Body: template.HTML(body.String()), //nolint:gosec // all of it is escaped
	}
}

// Level is how deep a heading stands.
func (h heading) Level() int { return h.level }

// Text is what a heading says.
func (h heading) Text() string { return h.text }

// ID is a heading's name in addresses.
func (h heading) ID() string { return h.id }

// Name is a group's.
func (g group) Name() string { return g.name }

// Pages are a group's.
func (g group) Pages() []*entry { return g.pages }

// Below are the pages below a page.
func (e *entry) Below() []*entry { return e.below }

// Label is what a page is called in lists.
func (e *entry) Label() string {
	if e.source == start {
		return "Overview"
	}
	return e.title
}

// Address is where a page stands within the site.
func (e *entry) Address() string { return addressOf(e.source) }

// Part is a list of pages, and the page that shows it.
type Part struct {
	View    view
	Entries []*entry
}

// With is the part of the page that lists some pages.
func (v view) With(entries []*entry) Part { return Part{v, entries} }
