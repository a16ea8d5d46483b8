package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// TestProblems compares routes with the limits of a cluster: those that it does not have, and costs that no bucket holds.
func TestProblems(t *testing.T) {
	const proxy, asked = `proxy: {max_body: 10240, upstreams: {web: {urls: ["http://127.0.0.1:9"]}}}`, "forward_auth: {}"
	for _, c := range []struct {
		name, face, checks string
		want               []string // ! before those that are no warnings
	}{
		{"unknown limits", asked, `{limits: [two, five]}, {limits: [five, six]}, {limits: [four], choose: {by: header.Plan, when: [{is: free, limits: [seven, two]}]}}`, []string{
			`!route r: unknown limit "five": the cluster does not have it; jeton limits get shows those that it has`, `!route r: unknown limit "six"`, `!route r: unknown limit "seven"`,
		}},
		{"no cost", asked, `{limits: [two, four]}`, nil},
		{"a cost that fits", asked, `{limits: [four], cost: 4}`, nil},
		{"a cost", asked, `{limits: [four, two]}, {limits: [four, two], cost: 3}`, []string{
			`!route r: checks[1].cost: every request costs 3, and limit "two" has a capacity of 2: all are denied: raise the capacity, or write a cost of at most 2`,
		}},
		{"a cost of some clients", asked, `{limits: [four], cost: 3, choose: {by: header.Plan, when: [{is: free, limits: [two]}]}}`, []string{`!route r: checks[0].cost: every request costs 3, and limit "two"`}},
		{"a cost that only counts", asked, `{limits: [two], cost: 3, shadow: true}`, []string{`route r: checks[0].cost: every request costs 3`}},
		{"a header", asked, `{limits: [two], cost: {header: Units}}`, nil},
		{"a header, with a floor", asked, `{limits: [two], cost: {header: Units, min: 3}}`, []string{`!route r: checks[0].cost.min: every request costs at least 3, and limit "two" has a capacity of 2: all are denied: raise the capacity, or write min: 2`}},
		{"a header that is missing", asked, `{limits: [two], cost: {header: Units, tokens: 3}}`, []string{`!route r: checks[0].cost.tokens: a request without a number in Units costs 3`}},
		{"a header, with a bound", asked, `{limits: [two, four], cost: {header: Units, max: 3}}`, []string{
			`route r: checks[0].cost.max: a request may cost 3, and limit "two" has a capacity of 2: those that cost more than that are always denied: raise the capacity, or write max: 2`,
		}},
		{"bodies that fit", proxy, `{limits: [two], cost: {bytes_per_token: 5120}}`, nil},
		{"bodies with a bound", proxy, `{limits: [two], cost: {bytes_per_token: 1024, max: 2}}`, nil},
		{"bodies", proxy, `{limits: [two], cost: {bytes_per_token: 1024}}`, []string{`route r: checks[0].cost.bytes_per_token: a long body, and one of unknown length, may cost 10, and limit "two" has a capacity of 2`}},
		{"waits", asked, `{limits: [two], wait: 2s}, {limits: [four], shadow: true}`, []string{
			`route r: checks[0].wait: limit "two" lets no check wait: leave the wait out, or give the limit wait: 2s: requests wait for no longer than the limit allows`,
		}},
		{"limits without holds", proxy, `{limits: [two], counts: tokens}, {limits: [four], counts: streams}, {limits: [four]}`, []string{
			`!route r: checks[0].counts: tokens: limit "two" takes no holds: give it hold: 1m, the longest that one may last, and llm.hold of the route is 1m0s`,
			`!route r: checks[1].counts: streams: limit "four" has no permits: give it algorithm: concurrency and a lease`,
		}},
		{"bodies that nobody sees", asked, `{limits: [two], cost: {bytes_per_token: 1024, max: 9}}`, []string{
			`!route r: checks[0].cost.bytes_per_token: without the proxy the length of a body is unknown, so every request costs 9, and limit "two" has a capacity of 2: all are denied: raise the capacity, or write max: 2`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := ""
			if strings.Contains(c.checks, "counts:") {
				model = "llm: {api: openai-chat}, "
			}
			doc, err := config.Parse([]byte(c.face+"\nroutes: [{name: r, path: /, "+model+"checks: ["+c.checks+"]}]\n"), "")
			if err != nil {
				t.Fatal(err)
			}
			found := Problems(doc, "", known(t, twoLimit))
			if len(found) != len(c.want) {
				t.Fatalf("%d problems, want %d: %v", len(found), len(c.want), found)
			}
			for i, p := range found {
				want, wrong := strings.CutPrefix(c.want[i], "!")
				if !strings.HasPrefix(p.String(), want) || p.Warning == wrong {
					t.Errorf("the problem is\n%v, a warning: %v; want\n%s", p, p.Warning, c.want[i])
				}
			}
		})
	}
}

// A cost that no bucket holds is told once, and that it fits now; one that some requests may have does not make a gateway degraded.
func TestACostBeyondTheCapacity(t *testing.T) {
	n, _ := ownCluster(t, twoLimit, true)
	dear := strings.Replace(fmt.Sprintf(aText, n.GRPCAddr(), anUpstream(t).URL), "{limits: [two]}", "{limits: [two], cost: 3}, {limits: [four], cost: {header: Units, max: 5}}", 1)
	r := open(t, Config{}, dear+"identity: {trusted_proxies: [127.0.0.1]}\n")
	r.heard(t)
	for range 2 {
		r.watchLimits(t.Context())
	}
	if a := r.get(t, r.ProxyAddr(), "/items"); a.status != http.StatusTooManyRequests {
		t.Errorf("a request that costs more than the capacity: %+v", a)
	}
	const cost, most = `limits: route items: checks[0].cost: every request costs 3, and limit "two" has a capacity of 2: all are denied`, "\nlimits: route items: checks[1].cost.max: a request may cost 5"
	if a := r.readyz(t, "?strict"); a.status != http.StatusServiceUnavailable || !strings.HasPrefix(a.body, "degraded: "+cost) || !strings.Contains(a.body, most) || strings.Contains(a.body, "more below") {
		t.Errorf("/readyz: %+v", a)
	}
	if told := r.log.count("level=WARN msg=\"a route does not fit the limits in force\" route=items"); told != 2 {
		t.Errorf("the log was told %d times, want 2", told)
	}
	r.apply(t, n, "limits: {two: {capacity: 3, refill: 1/h}, four: {capacity: 4, refill: 1/h}}")
	r.watchLimits(t.Context())
	if a := r.readyz(t, "?strict"); a.status != http.StatusOK || !strings.Contains(a.body, most) || r.log.count("a problem of a route with the limits in force is over") != 1 {
		t.Errorf("with a greater capacity: %+v", a)
	}
}

// TestProblemsOfModels looks for limits that cannot count what a check of a language model counts.
func TestProblemsOfModels(t *testing.T) {
	const limits = "limits: {plain: {capacity: 9, refill: 1/s}, short: {capacity: 9, refill: 1/s, hold: 59s}, long: {capacity: 9, refill: 1/s, hold: 1m}, " +
		"inside: {algorithm: concurrency, limit: 2, lease: 1m}}"
	for checks, want := range map[string]string{
		"{limits: [plain]}":                                                   "",
		"{limits: [plain, inside]}":                                           `warning: route r: checks[0]: limit "inside" gives permits, which a check that counts requests keeps for their whole lease: write counts: streams`,
		"{limits: [long], counts: tokens}":                                    "",
		"{limits: [inside], counts: streams}":                                 "",
		"{limits: [plain], counts: input}":                                    `route r: checks[0].counts: input: limit "plain" takes no holds: give it hold: 1m, the longest`,
		"{limits: [long], counts: output}, {limits: [short], counts: tokens}": `route r: checks[1].counts: tokens: 1m is longer than limit "short" allows: at most 59s`,
		"{limits: [long, inside], counts: tokens}":                            `tokens: limit "inside" gives permits, and takes no holds: ask a limit of another algorithm`,
		"{limits: [long], counts: streams}":                                   `streams: limit "long" has no permits: give it algorithm: concurrency and a lease`,
	} {
		doc, err := config.Parse([]byte("proxy: {upstreams: {m: {urls: ['http://127.0.0.1:9']}}}\nroutes: [{name: r, path: /, llm: {api: openai-chat}, checks: ["+checks+"]}]\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		rules, err := limit.ParseDocument([]byte(limits))
		if err != nil {
			t.Fatal(err)
		}
		found := Problems(doc, "", rules)
		warning := strings.HasPrefix(want, "warning: ")
		want = strings.TrimPrefix(want, "warning: ")
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || found[0].Warning != warning || !strings.Contains(found[0].String(), want)) {
			t.Errorf("%s: %v, want %q", checks, found, want)
		}
	}
}
