package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for what is to happen on a page at last.
const patience = 3 * time.Minute

// A browser is a Chromium without a window.
type browser struct {
	ctx context.Context //nolint:containedctx // it stands for the browser in its library
}

// startBrowser starts one that ends with the test. Debian has it in the package chromium.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("these tests drive Chromium: install the package chromium: %v", err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"), chromedp.Flag("force-color-profile", "srgb"),
	}
	if os.Geteuid() == 0 { // for whom Chromium has no sandbox
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(options...))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	return &browser{ctx}
}

// A tab is a page in a browser of its own cookies. What it says on its console and what it asks of others than its server fails the test at
// its end.
type tab struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // likewise
	origin string

	mu      sync.Mutex
	wrong   []string
	expects []string // parts of what may be said
	allows  []string // how addresses begin that may be asked besides
}

// open opens a tab for the server at an address.
func (b *browser) open(t *testing.T, address string) *tab {
	t.Helper()
	return b.openAt(t, address, "/")
}

// openAt is open at another page than the first.
func (b *browser) openAt(t *testing.T, address, path string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	page := &tab{t: t, ctx: ctx, origin: "http://" + address}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(page.watchConsole)
	reading.Go(page.watchRequests)
	t.Cleanup(func() {
		cancel()
		reading.Wait()
		for _, said := range page.wrong {
			t.Error(said)
		}
	})
	page.do(chromedp.Navigate(page.origin + path))
	return page
}

// watchConsole reads what the page says until the tab is closed.
func (p *tab) watchConsole() {
	for m, err := range chromedp.Console(p.ctx) {
		if err != nil {
			return
		}
		if m.IsException() || m.Type == "error" || m.Type == "warning" {
			p.note("the page says: " + m.String())
		}
	}
}

// watchRequests reads what the page asks for.
func (p *tab) watchRequests() {
	for e, err := range chromedp.Events(p.ctx, network.RequestWillBeSent) {
		if err != nil {
			return
		}
		at, err := url.Parse(e.Request.URL)
		if err != nil || at.Scheme != "data" && at.Scheme+"://"+at.Host != p.origin && !p.allowed(e.Request.URL) {
			p.note("the page asks another server: " + e.Request.URL)
		}
	}
}

// note notes what is wrong, unless it is expected.
func (p *tab) note(said string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, expected := range p.expects {
		if strings.Contains(said, expected) {
			return
		}
	}
	p.wrong = append(p.wrong, said)
}

// expect says that the page may say something with this part: what a browser logs of answers with an error, for one.
func (p *tab) expect(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expects = append(p.expects, part)
}

// allow says that addresses that begin so may be asked too.
func (p *tab) allow(prefix string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allows = append(p.allows, prefix)
}

func (p *tab) allowed(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.allows, func(prefix string) bool { return strings.HasPrefix(address, prefix) })
}

// do makes steps, in order.
func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%v; the page shows:\n%s", err, p.shown())
	}
}

// until waits until an expression of JavaScript is true. That it cannot be evaluated counts as false: a page may be on its way.
func (p *tab) until(what, expression string, args ...any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	expression = fmt.Sprintf(expression, args...)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && is {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.t.Fatalf("%s: not so in %v: %s (%v); the page shows:\n%s", what, patience, expression, err, p.shown())
		}
	}
}

// value evaluates an expression.
func value[T any](p *tab, expression string, args ...any) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](fmt.Sprintf(expression, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// shown is the text of the page.
func (p *tab) shown() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// picture writes what the tab shows into a file of the folder, where there is one.
func (p *tab) picture(folder, name string) {
	p.t.Helper()
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil { //nolint:gosec // it is for pages
		p.t.Fatal(err)
	}
}
