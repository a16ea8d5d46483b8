package browser

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A readSite is the site of the pages at a server, below a path that is not the top.
type readSite struct {
	*browser

	folder string
	server *httptest.Server
	pages  []string // by path, with a slash before
}

// siteBase is where the site stands at the server.
const siteBase = "/some/where/"

// makeSite makes the site of this repository, as make site does.
func makeSite(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "site")
	made := exec.CommandContext(t.Context(), "go", "-C", "../../cmd/site", "run", ".", "--into", folder, "--base", siteBase)
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("making the site: %v: %s", err, out)
	}
	return folder
}

// serveSite serves a site as static hosts do: what is not there is answered with 404.html.
func serveSite(t *testing.T, b *browser) *readSite {
	t.Helper()
	s := &readSite{browser: b, folder: makeSite(t)}
	files := http.StripPrefix(siteBase, http.FileServer(http.Dir(s.folder)))
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Join(s.folder, filepath.FromSlash(strings.TrimPrefix(r.URL.Path, siteBase)))
		if _, err := os.Stat(name); err != nil {
			missing, err := os.ReadFile(filepath.Join(s.folder, "404.html"))
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(missing)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	err := filepath.WalkDir(s.folder, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(file) == ".html" && entry.Name() != "404.html" {
			rel, err := filepath.Rel(s.folder, file)
			s.pages = append(s.pages, filepath.ToSlash(rel))
			return err
		}
		return err
	})
	if err != nil || len(s.pages) < 100 {
		t.Fatalf("%d pages, %v", len(s.pages), err)
	}
	return s
}

// visitor opens a tab at a page of the site. What the tab asks of other hosts, and what the policy of the page refuses, fails the test.
func (s *readSite) visitor(t *testing.T, page string) *tab {
	t.Helper()
	p := s.openAt(t, strings.TrimPrefix(s.server.URL, "http://"), siteBase+page)
	p.arrive(page)
	return p
}

func (s *readSite) address(page string) string { return s.server.URL + siteBase + page }

// goTo loads a page.
func (p *tab) goTo(address string) {
	p.t.Helper()
	p.do(chromedp.Navigate(address))
	p.arrive(address)
}

// arrive waits until a page and its pictures are there.
func (p *tab) arrive(address string) {
	p.t.Helper()
	p.until("the page", `document.readyState === "complete" && !document.querySelector(".search").hidden`)
	broken := value[[]string](p, `[...document.images].filter(i => i.naturalWidth === 0).map(i => i.src)`)
	if len(broken) > 0 {
		p.t.Errorf("%s shows pictures that are not there: %q", address, broken)
	}
}

// search types a query and is the addresses that are found, from the top of the site.
func (p *tab) search(query, root string) []string {
	p.t.Helper()
	value[bool](p, `(document.querySelector(".search input").value = "", true)`)
	p.do(chromedp.SendKeys(".search input", query))
	p.until("results for "+query, `!document.querySelector(".found").hidden && /\d+ result|Nothing/.test(document.querySelector(".found p").textContent)`)
	found := value[[]string](p, `[...document.querySelectorAll(".found a")].map(a => a.href)`)
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], root)
	}
	return found
}

// TestSite reads the site as its visitors do. With JETON_SCREENSHOTS set, it takes pictures on the way.
func TestSite(t *testing.T) {
	s := serveSite(t, startBrowser(t))
	t.Run("every page", s.loadsEveryPage)
	t.Run("search", s.finds)
	t.Run("from a disk", s.needsNoServer)
	t.Run("without scripts", s.needsNoScript)
	t.Run("phone", s.fitsPhones)
	t.Run("keyboard", s.needsNoMouse)
	t.Run("axe", s.keepsTheRulesOfAxe)
	t.Run("no such page", s.saysThatAPageIsMissing)
	t.Run("theme", s.remembersTheTheme)
}

// Every page loads, with all that it names, and says nothing on the console: no foreign host is asked, and its policy refuses nothing.
func (s *readSite) loadsEveryPage(t *testing.T) {
	p := s.visitor(t, "index.html")
	p.picture(screenshots(), "site")
	for _, page := range s.pages {
		p.goTo(s.address(page))
		if wide := value[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("%s is %d pixels wider than the window", page, wide)
		}
	}
	p.goTo(s.address("CHANGELOG.html")) // which stands at the end of the list
	p.until("its place in the list of pages", `(() => {
		const list = document.querySelector(".pages").getBoundingClientRect(), at = document.querySelector(".pages [aria-current]").getBoundingClientRect()
		return at.top >= list.top && at.bottom <= list.bottom
	})()`)
	p.goTo(s.address("docs/limits.html"))
	p.picture(screenshots(), "site-limits")
}

// What a reader looks for comes first.
func (s *readSite) finds(t *testing.T) {
	p := s.visitor(t, "docs/limits.html")
	for _, tt := range []struct {
		query string
		among int // the first so many results
		want  string
	}{
		{"429", 8, "docs/headers.html"},
		{"kill -9", 5, "index.html"},
		{"retry-after", 2, "docs/headers.html"},
		{"lease", 4, "docs/consistency.html"},
		{"leas", 6, "docs/consistency.html"},
		{"glossary", 1, "docs/glossary.html"},
		{"cluster key", 4, "docs/move.html"},
		{"--cluster-key-file", 4, "docs/options.html"},
		{"fixed window calendar", 3, "docs/limits.html"},
		{"JWT", 3, "docs/who-is-asking.html"},
		{"Choose an algorithm", 1, "docs/algorithms.html"},
	} {
		found := p.search(tt.query, s.address(""))
		if !slices.ContainsFunc(found[:min(tt.among, len(found))], func(address string) bool { page, _, _ := strings.Cut(address, "#"); return page == tt.want }) {
			t.Errorf("%q: %s is not among the first %d of %q", tt.query, tt.want, tt.among, found)
		}
	}
	p.picture(screenshots(), "site-search")
	if found := p.search("xyzzyplugh <img src=x onerror=alert(1)>", s.address("")); len(found) > 12 {
		t.Errorf("%d results", len(found))
	}
	if markup := value[int](p, `document.querySelectorAll(".found img, .found script").length`); markup > 0 {
		t.Error("what was typed became part of the page")
	}
	p.search("glossary", s.address(""))
	p.do(chromedp.KeyEvent("\r"))
	p.until("the page that was found", `location.pathname.endsWith("/docs/glossary.html")`)
}

// From a disk, pages, pictures, links and the search are the same.
func (s *readSite) needsNoServer(t *testing.T) {
	p := s.visitor(t, "index.html")
	at := (&url.URL{Scheme: "file", Path: filepath.ToSlash(s.folder)}).String() + "/"
	p.allow("file://")
	p.goTo(at + "docs/protocol.html")
	if ground := value[string](p, `getComputedStyle(document.querySelector(".head")).position`); ground != "sticky" {
		t.Errorf("the style did not come: the head is %s", ground)
	}
	if found := p.search("glossary", at); len(found) == 0 || found[0] != "docs/glossary.html" {
		t.Errorf("glossary leads to %q", found)
	}
	value[bool](p, `(document.querySelector(".pages a[href$='limits.html']").click(), true)`)
	p.until("the page that the link leads to", `location.pathname.endsWith("/docs/limits.html") && document.querySelector("h1") !== null`)
}

// Without scripts a page can be read, and its lists work. What needs a script is not there.
func (s *readSite) needsNoScript(t *testing.T) {
	p := s.visitor(t, "index.html")
	if _, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.EmulateViewport(700, 900), chromedp.Navigate(s.address("docs/limits.html")))
	p.until("the text", `document.readyState === "complete" && document.querySelector("h1").textContent === "Write limits"`)
	for _, part := range []string{".search", ".theme"} {
		if shown := value[bool](p, `document.querySelector(%q).checkVisibility()`, part); shown {
			t.Errorf("%s is shown, and does nothing", part)
		}
	}
	p.do(chromedp.Click(`.jump[href="#site-pages"]`))
	p.until("the list of pages", `document.querySelector("#site-pages a").checkVisibility()`)
	p.do(chromedp.Click(`#site-pages a[href$="glossary.html"]`))
	p.until("the page", `location.pathname.endsWith("/docs/glossary.html")`)
}

// On a phone nothing is wider than the screen, and the lists of pages and headings open without a script.
func (s *readSite) fitsPhones(t *testing.T) {
	p := s.visitor(t, "index.html")
	p.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for _, page := range []string{"index.html", "docs/security.html", "docs/limits.html", "docs/protocol.html", "docs/gateway.html", "actor/limit/rule.go.html"} {
		p.goTo(s.address(page))
		if wide := value[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("%s is %d pixels wider than a phone", page, wide)
		}
	}
	p.goTo(s.address("docs/limits.html"))
	p.picture(screenshots(), "site-phone")
	for _, list := range []string{"pages", "contents"} {
		p.do(chromedp.Click(`.jump[href="#site-` + list + `"]`))
		p.until("the list", `getComputedStyle(document.querySelector("#site-%s")).display !== "none"`, list)
		p.picture(screenshots(), "site-phone-"+list)
		p.do(chromedp.Click("#site-" + list + " .close"))
		p.until("the text", `getComputedStyle(document.querySelector("#site-%s")).display === "none"`, list)
	}
}

// By the keyboard alone: the first stop skips the head, / begins a search, the arrows go through what was found.
func (s *readSite) needsNoMouse(t *testing.T) {
	p := s.visitor(t, "docs/limits.html")
	p.do(chromedp.KeyEvent("\t"))
	p.until("the link that skips the head", `document.activeElement.classList.contains("skip")`)
	p.do(chromedp.KeyEvent("/"))
	p.until("the field", `document.activeElement.matches(".search input")`)
	p.search("lease", s.address(""))
	p.do(chromedp.KeyEvent(kb.ArrowDown)) // the arrow down
	p.until("the first result", `document.activeElement === document.querySelector(".found a")`)
	if outline := value[string](p, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
		t.Error("what has the focus does not look so")
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("the field again", `document.activeElement.matches(".search input") && document.querySelector(".found").hidden`)
}

// Pages of each kind keep the rules of axe, light and dark.
func (s *readSite) keepsTheRulesOfAxe(t *testing.T) {
	rules, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v: run npm ci in this folder, as make test-site does", err)
	}
	p := s.visitor(t, "index.html")
	for _, theme := range []string{"light", "dark"} {
		for _, page := range []string{"index.html", "docs/security.html", "docs/limits.html", "docs/protocol.html", "CHANGELOG.html", "actor/limit/rule.go.html", "cluster-tests/history/index.html"} {
			p.goTo(s.address(page))
			value[bool](p, `(document.documentElement.dataset.theme = %q, true)`, theme)
			if page == "docs/limits.html" {
				p.search("lease", s.address(""))
			}
			if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](string(rules)+"; true")); err != nil {
				t.Fatal(err)
			}
			found := value[[]string](p, `axe.run().then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.html).join(" ").slice(0, 500)))`)
			for _, violation := range found {
				t.Errorf("%s, %s: %s", page, theme, violation)
			}
		}
	}
}

// An address that leads nowhere is answered with a page whose links work, however deep the address is.
func (s *readSite) saysThatAPageIsMissing(t *testing.T) {
	p := s.visitor(t, "index.html")
	p.expect("404 (Not Found)")
	p.goTo(s.address("docs/deep/er/none.html"))
	p.picture(screenshots(), "site-missing")
	value[bool](p, `(document.querySelector("main a").click(), true)`)
	p.until("the first page", `location.pathname.replace("index.html", "") === %q`, siteBase)
}

// The reader's choice of light or dark holds on the next page.
func (s *readSite) remembersTheTheme(t *testing.T) {
	p := s.visitor(t, "index.html")
	before := value[string](p, `getComputedStyle(document.body).backgroundColor`)
	p.do(chromedp.Click(".theme"))
	p.until("the other colors", `getComputedStyle(document.body).backgroundColor !== %q`, before)
	p.goTo(s.address("docs/limits.html"))
	p.until("the other colors on the next page", `getComputedStyle(document.body).backgroundColor !== %q`, before)
	p.picture(screenshots(), "site-dark")
}
