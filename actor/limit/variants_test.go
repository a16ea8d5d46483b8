package limit_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

const varied = `limits:
  api:
    capacity: 100
    refill: 10/s
    plans:
      free: {capacity: 10, refill: 1/s}
      pro: {capacity: 1000, refill: 100/s}
      big: {capacity: 5000}
    overrides:
      - {key: "org:acme:*", capacity: 500}
      - {key: "org:acme:42", refill: 50/s}
      - {key: user:7, deny: true}
      - {key: 8, allow: true}
  page: {algorithm: fixed-window, limit: 100, window: 1m, plans: {pro: {limit: 200}}}
  log: {algorithm: sliding-log, limit: 100, window: 1m, plans: {pro: {limit: 200}}, overrides: [{key: "a*", limit: 5}]}
  in: {algorithm: concurrency, limit: 5, lease: 30s, plans: {pro: {limit: 50}}}
  plain: {capacity: 1, refill: 1/s, plans: , overrides: }
`

func read(tb testing.TB, text string) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// A plan and an override replace the numbers that they name, of every algorithm, and leave the others.
func TestVariants(t *testing.T) {
	doc := read(t, varied)
	for _, c := range []struct {
		limit, plan, says, terms string
	}{
		{"api", "free", "capacity: 10, refill: 1/s", "capacity 10, refill 1/s"},
		{"api", "pro", "capacity: 1000, refill: 100/s", "capacity 1000, refill 100/s"},
		{"api", "big", "capacity: 5000", "capacity 5000, refill 10/s"},
		{"page", "pro", "limit: 200", "limit 200, window 1m"},
		{"log", "pro", "limit: 200", "limit 200, window 1m"},
		{"in", "pro", "limit: 50", "limit 50, lease 30s"},
	} {
		base, _ := doc.Rule(c.limit)
		p, ok := doc.Plan(c.limit, c.plan)
		if !ok || p.Says != c.says || strings.Join(p.Rule.Terms(), ", ") != c.terms || p.Rule.Register() != base.Register() || doc.PlanOf(p.Rule) != c.plan {
			t.Errorf("plan %s of %s: %+v", c.plan, c.limit, p)
		}
	}
	if _, ok := doc.Plan("plain", "pro"); ok || len(doc.Plans("plain")) != 0 || len(doc.Plans("none")) != 0 {
		t.Error("a limit without plans has one")
	}
	never := func() int64 { t.Error("the clock was asked"); return 0 }
	for _, c := range []struct{ key, text, terms string }{
		{"org:acme:1", `capacity: 500 for "org:acme:*", of the limits document`, "capacity 500, refill 10/s"},
		{"org:acme:42", `refill: 50/s for "org:acme:42", of the limits document`, "capacity 100, refill 50/s"},
		{"user:7", `deny for "user:7", of the limits document`, "capacity 100, refill 10/s"},
		{"8", `allow for "8", of the limits document`, "capacity 100, refill 10/s"},
		{"user:70", "", ""},
	} {
		o := doc.Override("api", c.key, never)
		if c.text == "" && o == nil {
			continue
		}
		if o == nil || !o.Written || o.Text != c.text || strings.Join(o.Rule.Terms(), ", ") != c.terms {
			t.Errorf("the override of %s: %+v", c.key, o)
		}
	}
}

// What is written of a document is read as the same.
func TestVariantsAreWritten(t *testing.T) {
	doc := read(t, varied)
	again, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(again), string(inJSON)} {
		other := read(t, text)
		if d := limit.Difference(doc, other); len(d.Names()) > 0 || len(d.Fields) > 0 || len(d.Effects) > 0 {
			t.Errorf("it is read as another one: %+v of\n%s", d, text)
		}
		if !other.HasOverrides() || len(other.Plans("api")) != 3 {
			t.Errorf("plans or overrides are lost:\n%s", text)
		}
	}
	one := read(t, "limits: {api: {capacity: 1, refill: 1/s}, new: {capacity: 1, refill: 1/s, overrides: [{key: a, deny: true}]}}")
	both := doc.With(one)
	if len(both.Plans("api")) != 0 || both.Override("api", "user:7", nil) != nil || both.Override("new", "a", nil) == nil || len(both.Plans("page")) != 1 {
		t.Error("the union of documents has the plans of the limit that is replaced, or not those of the others")
	}
}

func TestVariantsInvalid(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plans: {pro: {capacity: 0}}", "line 4: limits.api.plans.pro.capacity: is missing or 0"},
		{"plans: {pro: {capacity: x}}", `line 4: limits.api.plans.pro.capacity: "x" is not a whole number`},
		{"plans: {pro: {limit: 5}}", "line 4: limits.api.plans.pro.limit: does not fit the algorithm token-bucket"},
		{"plans: {pro: {window: 1m}}", "line 4: limits.api.plans.pro.window: is the limit's own: a plan sets capacity, limit, refill"},
		{"plans: {pro: {capacty: 1}}", `line 4: limits.api.plans.pro.capacty: is not a known field: a plan has capacity, limit, refill: did you mean "capacity"?`},
		{"plans: {pro: {}}", "line 4: limits.api.plans.pro: says nothing: set capacity, limit, refill"},
		{"plans: {pro: }", "line 4: limits.api.plans.pro: says nothing"},
		{"plans: {pro: {capacity: [1]}}", "line 4: limits.api.plans.pro.capacity: is not a single value"},
		{"plans: {pro: {capacity: 1, capacity: 2}}", "line 4: limits.api.plans.pro.capacity: is defined already"},
		{"plans: {pro: {capacity: 1}, pro: {capacity: 2}}", "line 4: limits.api.plans.pro: is defined already at line 4"},
		{`plans: {"a b": {capacity: 1}}`, `line 4: limits.api.plans.a b: "a b" is not a valid name`},
		{"plans: {pro: {capacity: 9223372036854775807}}", "line 4: limits.api.plans.pro.capacity: at this refill"},
		{"plans: [pro]", "line 4: limits.api.plans: is a list"},
		{"overrides: {a: {deny: true}}", "line 4: limits.api.overrides: is not a list"},
		{"overrides: [{deny: true}]", "line 4: limits.api.overrides[0].key: is missing"},
		{"overrides: [{key: a}]", "line 4: limits.api.overrides[0]: says nothing: set capacity, limit, refill, or deny or allow"},
		{"overrides: [{key: '', deny: true}]", "line 4: limits.api.overrides[0].key: is empty"},
		{"overrides: [{key: '*', deny: true}]", "line 4: limits.api.overrides[0].key: * stands for every key"},
		{"overrides: [{key: a, deny: true, allow: true}]", "line 4: limits.api.overrides[0].allow: contradicts deny"},
		{"overrides: [{key: a, deny: false}]", "line 4: limits.api.overrides[0].deny: is not true"},
		{"overrides: [{key: a, deny: true, capacity: 1}]", "line 4: limits.api.overrides[0].deny: every check gets this answer, whatever the numbers: leave capacity: 1 out"},
		{"overrides: [{key: a, denied: true}]", `line 4: limits.api.overrides[0].denied: is not a known field: an override has key, deny, allow, capacity, limit, refill`},
		{"overrides: [{key: a, lease: 1m}]", "line 4: limits.api.overrides[0].lease: is the limit's own: an override sets key, deny, allow, capacity, limit, refill"},
		{"overrides: [{key: 'org:*:admin', deny: true}]", `line 4: limits.api.overrides[0].key: a * stands for the rest of a key, so only at the end: write "org:*", or single keys`},
		{"overrides: [{key: a, limit: 5}]", "line 4: limits.api.overrides[0].limit: does not fit the algorithm token-bucket"},
		{"overrides: [{key: a, refill: 5/q}]", "line 4: limits.api.overrides[0].refill: "},
		{"overrides:\n    - {key: a, deny: true}\n    - {key: b, deny: true}\n    - {key: a, capacity: 3}", `line 7: limits.api.overrides[2].key: "a" has an override already, at line 5`},
		{"overrides: [a]", "line 4: limits.api.overrides[0]: "},
		{"plan: {pro: {capacity: 1}}", `line 4: limits.api.plan: is not a known field: a limit has algorithm`},
	} {
		_, err := limit.ParseDocument([]byte("limits:\n  api:\n    capacity: 1\n    " + c.text + "\n    refill: 1/s\n"))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
	}
}

// Whatever numbers a plan or an override sets, a key has one bucket of the limit: two registers would be spent one beside the other.
func TestVariantsShareARegister(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	refused, taken := 0, 0
	for range 500 {
		numbers := func() string { return fmt.Sprintf("capacity: %d, refill: 100/%dm", 50+r.IntN(200), 4+r.IntN(8)) }
		own, other := numbers(), numbers()
		doc, err := limit.ParseDocument(fmt.Appendf(nil, "limits: {api: {%s, hold: 1m, plans: {pro: {%s}}}}", own, other))
		base := read(t, fmt.Sprintf("limits: {api: {%s, hold: 1m}}", own))
		rule, _ := base.Rule("api")
		_, live := limit.Override{Limit: "api", Key: "k", Says: other}.Compile(rule)
		if (err == nil) != (live == nil) {
			t.Fatalf("%s with %s: the plan is %v, and the override %v", own, other, err, live)
		}
		if err != nil {
			refused++
			if want := "limits.api.plans.pro.capacity: an empty bucket takes "; !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want %s", err, want)
			}
			continue
		}
		taken++
		if p, _ := doc.Plan("api", "pro"); p.Rule.Register() != rule.Register() {
			t.Fatalf("%s spends %s, and the plan %s spends %s", own, rule.Register(), other, p.Rule.Register())
		}
	}
	if refused == 0 || taken == 0 {
		t.Errorf("%d were refused and %d taken: they show nothing", refused, taken)
	}
}

func TestCheckPlan(t *testing.T) {
	doc := read(t, varied)
	for _, c := range []struct{ plan, limits, want string }{
		{"pro", "api", ""},
		{"pro", "api,page,log,in", ""},
		{"pro", "api,plain", ""},
		{"free", "plain,api", ""},
		{"free", "api,page", `plan: limit "page" has no plan "free": use pro, or leave the plan out`},
		{"gold", "api", `plan: limit "api" has no plan "gold": use big, free or pro, or leave the plan out`},
		{"gold", "plain", `plan: there is no plan "gold": "plain" has no plans: leave the plan out, or add plans to a limit in the limits document`},
	} {
		r := limit.Request{Key: "k", Plan: c.plan}
		for name := range strings.SplitSeq(c.limits, ",") {
			r.Limits = append(r.Limits, limit.Named(name))
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		err := doc.CheckPlan(c.plan, r.Limits)
		if c.want == "" && err == nil {
			continue
		}
		if fmt.Sprint(err) != c.want || !limit.IsNoPlan(err) {
			t.Errorf("plan %s of %s: %v, want %s", c.plan, c.limits, err, c.want)
		}
	}
	own := limit.Inline(limit.Limit{Name: "own", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: 1}})
	if err := doc.CheckPlan("pro", []limit.Ref{own}); !limit.IsNoPlan(err) {
		t.Errorf("a limit of the request has a plan: %v", err)
	}
	wrong := limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("api")}, Plan: "no plan"}
	if err := wrong.Validate(); !limit.IsNoPlan(err) {
		t.Errorf("the plan %q is valid: %v", wrong.Plan, err)
	}
}

// A live override takes the place of the document's for the same keys, which comes back after it.
func TestOverridesOverWritten(t *testing.T) {
	doc := read(t, varied)
	now := int64(100)
	text := func(d *limit.Document, key string) string {
		o := d.Override("api", key, func() int64 { return now })
		if o == nil {
			return ""
		}
		return o.Says
	}
	set := func(d *limit.Document, key, says string, until int64) *limit.Document {
		c := limit.OverrideChange{Limit: "api", Key: key}
		if says != "" {
			c.Set = &limit.Override{Limit: "api", Key: key, Says: says, Until: until}
		}
		next, problems := d.WithOverrides([]limit.OverrideChange{c})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return next
	}
	live := set(doc, "org:acme:*", "deny", 200)
	live = set(live, "org:*", "allow", 0)
	live = set(live, "org:acme:42", "capacity: 7", 200)
	for key, want := range map[string]string{"org:acme:1": "deny", "org:acme:42": "capacity: 7", "org:x": "allow", "user:7": "deny", "nobody": ""} {
		if got := text(live, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	now = 200
	for key, want := range map[string]string{"org:acme:1": "capacity: 500", "org:acme:42": "refill: 50/s", "org:x": "allow"} {
		if got := text(live, key); got != want {
			t.Errorf("when it has ended, %s: %q, want %q", key, got, want)
		}
	}
	now = 100
	back := set(set(set(set(live, "org:acme:*", "allow", 0), "org:acme:*", "", 0), "org:acme:42", "", 0), "org:*", "", 0)
	for key, want := range map[string]string{"org:acme:1": "capacity: 500", "org:acme:42": "refill: 50/s", "org:x": "", "user:7": "deny"} {
		if got := text(back, key); got != want {
			t.Errorf("when it is gone, %s: %q, want %q", key, got, want)
		}
	}
	if got := text(doc, "org:acme:1"); got != "capacity: 500" {
		t.Errorf("the document itself has changed: %q", got)
	}
	if _, problems := doc.WithOverrides([]limit.OverrideChange{{Limit: "api", Key: "user:7", Set: &limit.Override{Limit: "api", Key: "user:7", Says: "limit: 1"}}}); len(problems) != 1 {
		t.Error("an override that does not fit is no problem")
	}
}

// Line that one of a limit's rules may have reserved is behind the floor of all of them.
func TestLeadOfVariants(t *testing.T) {
	doc := read(t, varied)
	const second = int64(1e9)
	api, _ := doc.Rule("api")
	if api.Reach() != 10*second || api.Lead() != 500*second || api.Ahead() != 500*second {
		t.Errorf("the limit reaches %d and leads %d", api.Reach(), api.Lead())
	}
	for _, p := range doc.Plans("api") {
		if p.Rule.Lead() != 500*second {
			t.Errorf("plan %s leads %d", p.Name, p.Rule.Lead())
		}
	}
	for _, key := range []string{"org:acme:1", "org:acme:42", "user:7"} {
		if o := doc.Override("api", key, nil); o.Rule.Lead() != 500*second {
			t.Errorf("the override of %s leads %d", key, o.Rule.Lead())
		}
	}
	live, _ := doc.WithOverrides([]limit.OverrideChange{
		{Limit: "api", Key: "x", Set: &limit.Override{Limit: "api", Key: "x", Says: "capacity: 6000"}},
		{Limit: "api", Key: "y", Set: &limit.Override{Limit: "api", Key: "y", Says: "capacity: 1"}},
	})
	gone, _ := live.WithOverrides([]limit.OverrideChange{{Limit: "api", Key: "x"}})
	for what, d := range map[string]*limit.Document{"set": live, "unset": gone} {
		api, _ := d.Rule("api")
		want := api.Lead()
		if want < 600*second || want > 1200*second {
			t.Errorf("with an override %s that reaches further the limit leads %d", what, want)
		}
		rules := []*limit.Rule{d.Override("api", "y", nil).Rule, d.Override("api", "org:acme:1", nil).Rule}
		for _, p := range d.Plans("api") {
			rules = append(rules, p.Rule)
		}
		for _, r := range rules {
			if r.Lead() != want {
				t.Errorf("%s: a rule leads %d, want %d", what, r.Lead(), want)
			}
		}
	}
	if in, _ := doc.Rule("in"); in.Lead() != int64(in.Lease) {
		t.Errorf("permits lead %d", in.Lead())
	}
}

func TestDifferenceOfVariants(t *testing.T) {
	before := read(t, varied)
	after := read(t, strings.NewReplacer("free: {capacity: 10, refill: 1/s}", "free: {capacity: 20, refill: 1/s}",
		"pro: {capacity: 1000", "max: {capacity: 1000", "      - {key: user:7, deny: true}\n", "", "capacity: 500}", "capacity: 600}", "      - {key: 8,", "      - {key: 9, deny: true}\n      - {key: 8,").Replace(varied))
	d := limit.Difference(before, after)
	if len(d.Added)+len(d.Removed) > 0 || fmt.Sprint(d.Changed) != "[api]" {
		t.Errorf("it says %+v", d)
	}
	want := `{api plan free capacity: 10, refill: 1/s capacity: 20, refill: 1/s}
{api plan max  capacity: 1000, refill: 100/s}
{api plan pro capacity: 1000, refill: 100/s }
{api override 9  deny}
{api override org:acme:* capacity: 500 capacity: 600}
{api override user:7 deny }`
	var got []string
	for _, f := range d.Fields {
		got = append(got, fmt.Sprint(f))
	}
	if strings.Join(got, "\n") != want {
		t.Errorf("fields:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	var said []string
	for _, e := range d.Effects {
		said = append(said, e.Text)
	}
	for _, text := range []string{
		"plan free: buckets keep their debt in time", "plan free: from now on at most 20 at once", "plan max is new: checks that name it go by capacity: 1000, refill: 100/s",
		"plan pro is removed: checks that name it fail from now on", "overrides: 1 new, 1 changed, 1 removed",
	} {
		if !strings.Contains(strings.Join(said, "\n"), text) {
			t.Errorf("it does not say %q, but\n%s", text, strings.Join(said, "\n"))
		}
	}
	if strings.Contains(strings.Join(said, "\n"), "buckets stay as they are") {
		t.Errorf("it speaks of a limit that stays:\n%s", strings.Join(said, "\n"))
	}
	many := "limits: {a: {capacity: 1, refill: 1/s, overrides: ["
	for i := range 100 {
		many += fmt.Sprintf("{key: k%d, deny: true}, ", i)
	}
	d = limit.Difference(read(t, "limits: {a: {capacity: 1, refill: 1/s}}"), read(t, many+"]}}"))
	if last := d.Fields[len(d.Fields)-1]; len(d.Fields) != 21 || last.Field != "overrides" || last.After != "80 more that differ" {
		t.Errorf("100 overrides are %d fields, the last %+v", len(d.Fields), last)
	}
	if d = limit.Difference(before, read(t, strings.Replace(varied, "refill: 10/s", "refill: 20/s", 1))); len(d.Fields) != 1 {
		t.Errorf("the limit itself has changed, and so %+v", d.Fields)
	}
}

func TestDecidedBy(t *testing.T) {
	doc := read(t, varied)
	for _, c := range []struct {
		outcome limit.Outcome
		want    int64
	}{
		{limit.Outcome{Name: "api"}, 100},
		{limit.Outcome{Name: "api", Plan: "pro"}, 1000},
		{limit.Outcome{Name: "api", Plan: "gone"}, 0},
		{limit.Outcome{Name: "api", Override: `capacity: 500 for "org:acme:*", of the limits document`}, 500},
		{limit.Outcome{Name: "api", Override: `capacity: 9 for "org:acme:*"`}, 0},
		{limit.Outcome{Name: "none"}, 0},
	} {
		got := int64(0)
		if r := doc.DecidedBy(&c.outcome, "org:acme:1"); r != nil {
			got = r.Capacity
		}
		if got != c.want {
			t.Errorf("%+v was decided by a capacity of %d, want %d", c.outcome, got, c.want)
		}
	}
}

// The prefixes of a limit have at most 64 lengths: a check looks once for each.
func TestLengthsOfPrefixesInADocument(t *testing.T) {
	of := func(lengths int) string {
		var list strings.Builder
		for i := range lengths {
			for _, letter := range []string{"p", "q"} {
				fmt.Fprintf(&list, "{key: %s*, deny: true}, ", strings.Repeat(letter, i+1))
			}
		}
		return "limits: {api: {capacity: 1, refill: 1/s, overrides: [" + list.String() + "]}}"
	}
	read(t, of(64))
	_, err := limit.ParseDocument([]byte(of(65)))
	wantFieldError(t, err, "limits.api.overrides[128].key", "is a prefix of one more length than the 64 that those of a limit may have")
}
