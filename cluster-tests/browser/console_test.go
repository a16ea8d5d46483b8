package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// signedIn opens the console at a node and signs in.
func signedIn(t *testing.T, b *browser, m *process.Member) *tab {
	t.Helper()
	p := b.open(t, m.HTTP)
	p.expect("401 (Unauthorized)") // of the page itself, which is the form then
	p.signIn(token)
	p.until("the first view", `document.querySelector("#connection").classList.contains("live")`)
	return p
}

// signIn fills in the form.
func (p *tab) signIn(token string) {
	p.t.Helper()
	p.do(chromedp.WaitVisible("input[name=token]"), chromedp.SendKeys("input[name=token]", token), chromedp.Click("form button"))
}

// visit shows a tab of the console.
func (p *tab) visit(path string) {
	p.t.Helper()
	value[bool](p, `(location.hash = %q, true)`, path)
	p.until("the page at "+path, `location.hash.split("?")[0] === %q && document.querySelector("main h1") !== null`, strings.SplitN(path, "?", 2)[0])
}

// press presses the button, or the link, with a text, in the part of the page that a selector names.
func (p *tab) press(within, text string) {
	p.t.Helper()
	const find = `[...document.querySelectorAll(%q)].flatMap(e => [...e.querySelectorAll("button, a")]).find(e => e.textContent.trim() === %q && !e.disabled)`
	p.until("a button "+text, find+` !== undefined`, within, text)
	value[bool](p, `(`+find+`.click(), true)`, within, text)
}

// A console is what the tests of TestConsole look at: a cluster of three nodes, of which two are killed at the end.
type console struct {
	*browser
	*process.Cluster
}

// TestConsole drives the console as its visitors do. With make screenshots it takes pictures on the way.
func TestConsole(t *testing.T) {
	c := console{startBrowser(t), startCluster(t)}
	load(t, c.Members)
	t.Run("sign-in", c.signsIn)
	t.Run("overview", c.moves)
	t.Run("key", c.deniesAndFills)
	t.Run("search", c.findsKeys)
	t.Run("limits", c.changesLimits)
	t.Run("try it", c.tries)
	t.Run("hostile keys", c.showsHostileKeys)
	t.Run("gateway", c.explains)
	t.Run("phone", c.fitsPhones)
	t.Run("axe", c.keepsTheRulesOfAxe)
	t.Run("keyboard", c.needsNoMouse)
	t.Run("killed nodes", c.survives)
}

// Without a token there is nothing but the form, and a wrong one says so.
func (c console) signsIn(t *testing.T) {
	p := c.open(t, c.Members[0].HTTP)
	p.expect("401 (Unauthorized)")
	p.signIn("wrong")
	p.until("what is wrong", `document.querySelector("input[name=token]") !== null && /token/i.test(document.querySelector("[role=alert], .problem").textContent)`)
	for _, path := range []string{"/console/main.js", "/console/events", "/console/me", "/console/keys?q=user", "/debug/ring"} {
		if got := value[int](p, `fetch(%q).then(r => r.status)`, path); got != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d, want 401", path, got)
		}
	}
	p.signIn(token)
	p.until("the first view", `document.querySelector("#connection").classList.contains("live")`)
	if cookies := value[string](p, `document.cookie`); cookies != "" {
		t.Errorf("a script can read the cookie: %s", cookies)
	}
	p.until("who signed in", `document.querySelector("#who").textContent.includes("ann")`)
	p.press("#who", "Sign out")
	p.until("the form again", `document.querySelector("input[name=token]") !== null`)
}

// The overview moves: rates, and the nodes.
func (c console) moves(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.until("decisions", `/[1-9]/.test(document.querySelector(".tiles").textContent)`)
	p.until("the limits that decide", `["api", "login"].every(name => [...document.querySelectorAll("#busy-limits tbody tr")].some(r => r.dataset.key === name && /[1-9]/.test(r.cells[1].textContent + r.cells[2].textContent)))`)
	p.until("the nodes", `%s.every(name => document.querySelector("section[aria-labelledby=nodes]").textContent.includes(name))`, asJSON(t, names(c.Cluster)))
	p.until("a chart", `document.querySelector(".chart canvas") !== null`)
	if screenshots() != "" { // with something on it
		p.until("a minute of history", `/the last (\d{2} seconds|\d+ minutes)/.test(document.querySelector("figcaption").textContent)`)
	}
	p.picture(screenshots(), "overview")
}

// A key goes from green to denied, and is filled.
func (c console) deniesAndFills(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.visit("#/keys/login/user:77")
	p.until("all tokens", `document.querySelector(".bucket.allowed .big b")?.textContent === "10"`)
	for spend(t, c.Members[1], "user:77", 1) {
		continue
	}
	p.until("a bucket that denies", `document.querySelector(".bucket.denied .big b")?.textContent === "0"`)
	p.until("decisions", `[...document.querySelectorAll(".bucket [data-key=decisions] tbody tr")].some(r => r.textContent.includes("denied"))`)
	p.picture(screenshots(), "key")
	p.press(".bucket", "Fill…")
	p.press("dialog", "Fill")
	p.until("all tokens again", `document.querySelector(".bucket.allowed .big b")?.textContent === "10"`)
	if !spend(t, c.Members[2], "user:77", 1) {
		t.Error("the bucket says that it is full, and a check is denied")
	}

	p.press(".bucket", "Block…")
	p.press("dialog", "Block")
	p.until("a block", `document.querySelector(".bucket.blocked") !== null`)
	if spend(t, c.Members[2], "user:77", 1) {
		t.Error("the key is blocked, and a check is admitted")
	}
	p.press(".bucket", "Unblock…")
	p.press("dialog", "Unblock")
	p.until("no block", `document.querySelector(".bucket.allowed") !== null`)
	out, errs, code := c.Run(c.Members[0], "audit", "--token-file", tokenFile(t))
	if code != 0 || !strings.Contains(out, "ann") || !strings.Contains(out, "fill") {
		t.Errorf("the audit log does not say who filled the bucket: exit code %d: %s%s", code, out, errs)
	}
}

// A key is found by its beginning.
func (c console) findsKeys(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.visit("#/keys?q=user:1")
	p.until("keys", `["user:1", "user:10", "user:19"].every(k => [...document.querySelectorAll("main table a.key")].some(a => a.textContent === k))`)
	p.visit("#/keys")
	p.until("a key that is denied most", `[...document.querySelectorAll("main table a.key")].some(a => a.textContent === "user:greedy")`)
}

// A limit is changed, after the page has said what that does.
func (c console) changesLimits(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.visit("#/limits")
	p.until("the limits", `["login", "api", "tokens", "streams"].every(name => document.querySelector("main").textContent.includes(name))`)
	p.press("main", "Edit the document")
	p.until("the document", `document.querySelector("#document")?.value.includes("login")`)
	edit := func(from, to string) {
		value[bool](p, `(() => { const d = document.querySelector("#document"); if (!d.value.includes(%q)) throw new Error(d.value); d.value = d.value.replace(%q, %q); d.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`, from, from, to)
	}
	p.expect("400 (Bad Request)")
	edit("capacity: 10\n", "capacity: ten\n")
	p.press("main", "What would change?")
	p.until("what is wrong", `/capacity|line/i.test(document.querySelector("main .problem")?.textContent ?? "")`)
	edit("capacity: ten\n", "capacity: 12\n")
	p.press("main", "What would change?")
	p.until("the difference", `document.querySelector("main del")?.textContent === "10" && document.querySelector("main ins")?.textContent === "12"`)
	value[bool](p, `(document.querySelector("#would").scrollIntoView({ block: "center" }), true)`)
	p.picture(screenshots(), "limits-change")
	p.press("main", "Put in force…")
	p.press("dialog", "Put in force")
	p.until("the limit as it is now", `!document.querySelector("#document") && document.querySelector("main").textContent.includes("12")`)
	out, errs, code := c.Run(c.Members[2], "limits", "get")
	if code != 0 || !strings.Contains(out, "capacity: 12") {
		t.Errorf("another node has other limits: exit code %d: %s%s", code, out, errs)
	}
}

// A check that is sent by hand is answered with all that a client would get.
func (c console) tries(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.visit("#/try?limit=login&key=user:8")
	p.until("the form", `document.querySelector("main form [name=key]") !== null`)
	value[bool](p, `(() => { const f = document.querySelector("main form"); f.elements.limit.value = "login"; f.elements.key.value = "user:8"; f.requestSubmit(); return true; })()`)
	p.until("the answer", `["Allowed", "RateLimit-Policy", "curl ", "cluster.Check(", "redis-cli "].every(w => document.querySelector("main").textContent.includes(w))`)
}

// hostile are keys that a page must show and never run.
func hostile() []string {
	return []string{
		`<script>window.ran = true</script>`, `"><img src=x onerror="window.ran=true">`, "javascript:window.ran=true//", "{{constructor.constructor('window.ran=true')()}}",
		strings.Repeat("🪙", 128), "\u202egnp.exe\u202c\u0000\u0007\u001b[31m", "a/../b//c?d#e%2f%00", "שלום عليكم", strings.Repeat("w", 512),
	}
}

func (c console) showsHostileKeys(t *testing.T) {
	m := c.Members[0]
	for _, key := range hostile() {
		spend(t, m, key, 3)
	}
	p := signedIn(t, c.browser, m)
	for _, key := range hostile() {
		escaped := strings.ReplaceAll(url.PathEscape(key), ":", "%3A")
		p.visit("#/keys/login/" + escaped)
		p.until("the bucket of "+key, `/^[369]$/.test(document.querySelector(".bucket .big b")?.textContent)`) // of 12; the check may have been charged twice
		p.visit("#/keys?q=" + url.QueryEscape(key))
		p.until("the key "+key, `document.querySelectorAll("main table a.key").length > 0`)
		if value[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`) > 0 {
			t.Errorf("the key %q makes the page wider than the window", key)
		}
	}
	p.visit("#/")
	p.until("the first view", `document.querySelector(".tiles") !== null`)
	if value[bool](p, `window.ran === true`) {
		t.Error("a key was run as a script")
	}
	p.expect("400 (Bad Request)")
	p.visit("#/keys/login/%FF%FE")
	p.until("that no key has such bytes", `document.querySelector(".bucket .problem")?.textContent.includes("not valid UTF-8")`)
}

// gatewayDocument is that of a gateway in front of an upstream.
const gatewayDocument = `cluster: {servers: [%s], token_file: "%s"}
name: edge
admin: {listen: "%s"}
proxy: {listen: "%s", upstreams: {app: {urls: ["%s"]}}}
identity: {key: ["ip:{ip}"]}
routes: [{name: all, path: /, upstream: app, checks: [{limits: [login]}]}]
`

// Why a request was denied is told by the gateway that has denied it, to whom the console of a node shows the way.
func (c console) explains(t *testing.T) {
	upstream := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(upstream.Close)
	g := c.PlanGateway("edge", filepath.Join(t.TempDir(), "gateway.yaml"))
	document := fmt.Sprintf(gatewayDocument, strings.Join(c.Servers(), ", "), tokenFile(t), g.Admin, g.Proxy, upstream.URL)
	if err := os.WriteFile(g.Config, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Begin(); err != nil {
		t.Fatal(err)
	}
	p := c.open(t, g.Admin)
	p.until("a view of the cluster", `document.querySelector("#connection").classList.contains("live") && %s.every(name => document.querySelector("section[aria-labelledby=nodes]")?.textContent.includes(name))`, asJSON(t, names(c.Cluster)))
	id := denial(t, g.Proxy)
	p.visit("#/explain/" + id)
	p.until("the story", `["login", "ip:127.0.0.1", "GET /items"].every(w => document.querySelector("main article")?.textContent.includes(w))`)

	at := signedIn(t, c.browser, c.Members[0])
	at.visit("#/explain/" + id)
	at.until("the way to the gateway", `[...document.querySelectorAll("main a")].some(a => a.href.endsWith("#/explain/" + %q) && a.href.includes(%q))`, id, g.Admin[strings.LastIndex(g.Admin, ":"):])
	at.visit("#/")
	at.until("the gateway", `[...document.querySelectorAll("main table")].some(t => t.caption.textContent.toLowerCase().includes("gateway") && t.textContent.includes("edge"))`)
}

// denial asks a gateway until it denies, and returns the id that it gives.
func denial(t *testing.T, proxy string) string {
	t.Helper()
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+proxy+"/items", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var problem struct {
			Instance string `json:"instance"`
		}
		if res.StatusCode == http.StatusTooManyRequests {
			err = json.NewDecoder(res.Body).Decode(&problem)
		}
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := strings.CutPrefix(problem.Instance, "urn:jeton:denial:"); ok {
			return id
		}
	}
}

// pages are what the console has.
var pages = []string{"#/", "#/limits", "#/limits/login", "#/keys", "#/keys/login/user:greedy", "#/explain", "#/cluster", "#/try"}

// On a phone nothing is wider than the window.
func (c console) fitsPhones(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for i, at := range pages {
		p.visit(at)
		p.until("the page at "+at, `document.querySelector("main h1") !== null && !document.querySelector("main .waiting")`)
		if over := value[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("%s is %d pixels wider than a phone", at, over)
		}
		if i == 0 {
			p.until("rates", `/[1-9]/.test(document.querySelector(".tiles").textContent)`)
			p.picture(screenshots(), "phone")
		}
	}
}

// testAxe applies the rules of axe to each page, light and dark.
func (c console) keepsTheRulesOfAxe(t *testing.T) {
	rules, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v: run npm ci in this folder, as make test-browser does", err)
	}
	p := signedIn(t, c.browser, c.Members[0])
	for _, theme := range []string{"light", "dark"} {
		value[bool](p, `(document.documentElement.dataset.theme = %q, true)`, theme)
		for _, at := range pages {
			p.visit(at)
			p.until("the page at "+at, `!document.querySelector("main .waiting")`)
			if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](string(rules)+"; true")); err != nil {
				t.Fatal(err)
			}
			found := value[[]string](p, `axe.run().then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.html).join(" ").slice(0, 500)))`)
			for _, violation := range found {
				t.Errorf("%s, %s: %s", at, theme, violation)
			}
		}
		if theme == "dark" {
			p.visit("#/")
			p.until("the overview", `document.querySelector(".tiles") !== null`)
			p.picture(screenshots(), "overview-dark")
		}
	}
}

// By the keyboard alone: the first tab stop skips the head, and the tabs are links.
func (c console) needsNoMouse(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.do(chromedp.KeyEvent("\t"))
	p.until("the link that skips the head", `document.activeElement.id === "skip"`)
	for range 20 {
		p.do(chromedp.KeyEvent("\t"))
		if value[bool](p, `document.activeElement.textContent === "Keys" && document.activeElement.closest("nav") !== null`) {
			break
		}
	}
	p.do(chromedp.KeyEvent("\r"))
	p.until("the tab of keys", `location.hash === "#/keys" && document.activeElement.id === "main"`)
	outline := value[string](p, `(document.querySelector("nav a").focus(), getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).boxShadow)`)
	if outline == "nonenone" {
		t.Error("what has the focus does not look so")
	}
}

// A node that is killed is shown so, and is no problem any more when it is back.
func (c console) survives(t *testing.T) {
	p := signedIn(t, c.browser, c.Members[0])
	p.visit("#/")
	gone := c.Members[2]
	gone.Kill()
	p.until("the node that is gone", `document.querySelector(".problems")?.textContent.includes(%q)`, gone.Name)
	p.until("that the others answer", `document.querySelector("#connection").classList.contains("live") && document.querySelector("section[aria-labelledby=nodes]").textContent.includes(%q)`, gone.Name)
	p.picture(screenshots(), "node-down")
	gone.Launch()
	gone.Ready()
	p.until("nothing wrong with it", `!(document.querySelector(".problems")?.textContent ?? "").includes(%q)`, gone.Name)

	// The node that is looked at: the page keeps what it has, and goes on when the node is back.
	at := c.Members[0]
	p.expect("net::ERR_")
	p.expect("503 (Service Unavailable)")
	at.Kill()
	p.until("that the connection is lost", `document.querySelector("#connection").classList.contains("lost") && document.querySelector(".tiles") !== null`)
	at.Launch()
	at.Ready()
	p.until("the connection again", `document.querySelector("#connection").classList.contains("live")`)
}

func names(c *process.Cluster) (all []string) {
	for _, m := range c.Members {
		all = append(all, m.Name)
	}
	return all
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "%", "%%")
}

// tokenFile is a file with the operator's token.
func tokenFile(t *testing.T) string {
	t.Helper()
	path := fmt.Sprintf("%s/token", t.TempDir())
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// screenshots is the folder that gets pictures of the console; empty for none.
func screenshots() string { return os.Getenv("JETON_SCREENSHOTS") }
