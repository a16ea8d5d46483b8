package limit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/limit"
)

func mustDocument(t *testing.T, text string) *limit.Document {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(text))
	if err != nil {
		t.Fatalf("%v in document:\n%s", err, text)
	}
	return doc
}

// stored are the limits of a document as they were written, with defaults filled in.
func stored(d *limit.Document) []limit.Limit {
	limits := []limit.Limit{}
	for _, rule := range d.Rules() {
		limits = append(limits, rule.Limit)
	}
	return limits
}

func TestParseDocument(t *testing.T) {
	login := limit.Limit{Name: "login", Algorithm: "token-bucket", Capacity: 10, Refill: perSecond(1), OnUnavailable: limit.Deny}
	api := limit.Limit{
		Name: "api.v1", Algorithm: "token-bucket", Capacity: 100,
		Refill: limit.Refill{Tokens: 5000, Per: time.Hour}, OnUnavailable: limit.Allow,
	}
	for name, c := range map[string]struct {
		text string
		want []limit.Limit
	}{
		"in full": {
			"limits:\n  login:\n    algorithm: token-bucket\n    capacity: 10\n    refill: 1/s\n    on_unavailable: deny\n",
			[]limit.Limit{login},
		},
		"sorted by name": {
			"# ours\nlimits:\n  login: {capacity: 10, refill: 1/s, on_unavailable: deny}\n  api.v1: {capacity: 100, refill: 5000/1h}\n",
			[]limit.Limit{api, login},
		},
		"JSON": {
			"{\n\t\"limits\": {\"login\": {\"capacity\": 10, \"refill\": \"1/s\", \"on_unavailable\": \"deny\"}}\n}",
			[]limit.Limit{login},
		},
		"quoted":          {`{limits: {"login": {capacity: "10", refill: '1/s', on_unavailable: "deny"}}}`, []limit.Limit{login}},
		"of one document": {"---\nlimits: {login: {capacity: 10, refill: 1/s, on_unavailable: deny}}\n...\n", []limit.Limit{login}},
		"no limits":       {"limits: {}", []limit.Limit{}},
		"a default named": {"limits:\n  api.v1:\n    algorithm:\n    capacity: 100\n    refill: 5000/h\n    on_unavailable:\n", []limit.Limit{api}},
		"an alias of a whole limit": {
			"limits:\n  a: &a {capacity: 10, refill: 1/s}\n  b: *a\n",
			[]limit.Limit{
				{Name: "a", Algorithm: "token-bucket", Capacity: 10, Refill: perSecond(1), OnUnavailable: limit.Allow},
				{Name: "b", Algorithm: "token-bucket", Capacity: 10, Refill: perSecond(1), OnUnavailable: limit.Allow},
			},
		},
		"an alias of a value": {
			"limits:\n  a: {capacity: &ten 10, refill: 1/s}\n  b: {capacity: *ten, refill: 1/s}\n",
			[]limit.Limit{
				{Name: "a", Algorithm: "token-bucket", Capacity: 10, Refill: perSecond(1), OnUnavailable: limit.Allow},
				{Name: "b", Algorithm: "token-bucket", Capacity: 10, Refill: perSecond(1), OnUnavailable: limit.Allow},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stored(mustDocument(t, c.text)); !slices.Equal(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestParseDocumentInvalid(t *testing.T) {
	for name, c := range map[string]struct {
		text       string
		line       int
		field, fix string
	}{
		"empty":             {"", 1, "limits", "is empty: define at least one limit, or write limits: {} for none"},
		"only a comment":    {"# nothing yet\n", 1, "limits", "is empty"},
		"only a separator":  {"---\n", 2, "limits", "is empty"},
		"null":              {"~", 1, "limits", "is empty"},
		"an empty mapping":  {"{}", 1, "limits", "is empty"},
		"limits of null":    {"# cut off while it was saved\nlimits:\n", 2, "limits", "is empty"},
		"not YAML":          {"limits:\n  a: [\n", 2, "document", "is not YAML: did not find expected node content"},
		"a tab":             {"limits:\n\ta: 1\n", 2, "document", "is not YAML"},
		"not UTF-8":         {"\xff\xfe\xff", 1, "document", "is not YAML"},
		"an unknown anchor": {"limits: *none", 1, "document", "is not YAML"},
		"a list":            {"# top\n- limits\n", 2, "document", "is a list: write a mapping, as in name: value"},
		"a word":            {"limits", 1, "document", `is the text "limits": write a mapping`},
		"two documents":     {"limits: {}\n---\nlimits: {}\n", 2, "document", "holds more than one YAML document"},
		"a broken second":   {"limits: {}\n---\n]", 2, "document", "holds more than one YAML document"},
		"an unknown field":  {"limits: {}\nlimit: {}\n", 2, "limit", `a limits document has only limits: did you mean "limits"?`},
		"no name":           {"'': 1\n", 1, "document", `"" is not a known field: a limits document has only limits`},
		"limits twice":      {"limits: {}\nlimits: {}\n", 2, "limits", "is defined already at line 1"},
		"a list of limits":  {"limits:\n- login\n", 2, "limits", "is a list: write a mapping"},
		"a list as field":   {"? [a]\n: b\n", 1, "document", "names are single values, as in name: value"},
		"a list as limit":   {"limits:\n  ? [a]\n  : b\n", 2, "limits", "names are single values, as in name: value"},
		"an alias as limit": {
			"limits:\n  &a login: {capacity: 1, refill: 1/s}\n  *a : {capacity: 2, refill: 1/s}\n",
			3, "limits", "names are single values, as in name: value",
		},
		"a limit twice": {
			"limits:\n  login: {capacity: 1, refill: 1/s}\n  api: {capacity: 1, refill: 1/s}\n  login: {capacity: 2, refill: 1/s}\n",
			4, "limits.login", "is defined already at line 2",
		},
		"a number as limit": {"limits:\n  login: 5\n", 2, "limits.login", "is the number 5: write a mapping"},
		"a null limit":      {"limits:\n\n  login:\n", 3, "limits.login.capacity", "is missing: say how many tokens"},
		"a bad name":        {"limits:\n  log in: {capacity: 1, refill: 1/s}\n", 2, "limits.log in.name", "letters, digits, dots"},
		"an empty name":     {"limits:\n  '': {capacity: 1, refill: 1/s}\n", 2, "limits..name", "is empty"},
		"an unknown field of a limit": {
			"limits:\n  login:\n    capacity: 1\n    refil: 1/s\n",
			4, "limits.login.refil", `a limit has algorithm, capacity, limit, refill, window, per, timezone, anchor, weighted, lease, wait, hold, on_expiry, max_debt, reserve, penalty_after, penalty_for, penalty_max, consistency, sync, share, hot, gauges, on_unavailable, plans, overrides: did you mean "refill"?`,
		},
		"a name within a limit": {
			"limits:\n  login: {name: login}\n",
			2, "limits.login.name", "a limit has algorithm, capacity, limit, refill, window, per, timezone, anchor, weighted, lease, wait, hold, on_expiry, max_debt, reserve, penalty_after, penalty_for, penalty_max, consistency, sync, share, hot, gauges, on_unavailable",
		},
		"a merge": {
			"limits:\n  a: &a {capacity: 1, refill: 1/s}\n  b:\n    <<: *a\n",
			4, "limits.b.<<", "mappings are not merged here: write the fields out",
		},
		"a field twice":      {"limits:\n  a:\n    capacity: 1\n    capacity: 1\n", 4, "limits.a.capacity", "is defined already at line 3"},
		"a circle":           {"limits: &a\n  a: *a\n", 2, "limits.a.a", "is not a known field"},
		"a list of a field":  {"limits:\n  a:\n    capacity: [1]\n", 3, "limits.a.capacity", "is not a single value"},
		"capacity 0":         {"limits:\n  a:\n    refill: 1/s\n    capacity: 0\n", 4, "limits.a.capacity", "at least 1 token"},
		"no capacity":        {"limits:\n  a:\n    refill: 1/s\n", 2, "limits.a.capacity", "is missing: say how many tokens"},
		"a broken capacity":  {"limits:\n  a:\n    capacity: 1.5\n", 3, "limits.a.capacity", `"1.5" is not a whole number of tokens`},
		"a huge capacity":    {"limits:\n  a:\n    capacity: 9223372036854775808\n", 3, "limits.a.capacity", "at most 9223372036854775807"},
		"too much capacity":  {"limits:\n  a:\n    capacity: 9223372036854775807\n    refill: 1/s\n", 3, "limits.a.capacity", "more than 73 years"},
		"no refill":          {"limits:\n  a:\n    capacity: 1\n", 2, "limits.a.refill", "is missing: write n/duration, such as 5/s"},
		"a bad refill":       {"limits:\n  a:\n    capacity: 1\n    refill: 0/s\n", 4, "limits.a.refill", "at least 1, as in 1/1h"},
		"no number":          {"limits:\n  a:\n    capacity: 1\n    refill: abc\n", 4, "limits.a.refill", "is not n/duration, such as 5/s"},
		"a null refill":      {"limits:\n  a:\n    capacity: 1\n    refill:\n", 4, "limits.a.refill", "is not n/duration, such as 5/s"},
		"unknown algorithm":  {"limits:\n  a:\n    capacity: 1\n    refill: 1/s\n    algorithm: leaky\n", 5, "limits.a.algorithm", "token-bucket"},
		"an unknown policy":  {"limits:\n  a: {capacity: 1, refill: 1/s,\n    on_unavailable: Deny}\n", 3, "limits.a.on_unavailable", "use allow, deny or local"},
		"one limit of three": {"limits:\n  a: {capacity: 1, refill: 1/s}\n  b: {}\n  c: {capacity: 1, refill: 1/s}\n", 3, "limits.b.capacity", "at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := limit.ParseDocument([]byte(c.text))
			wantFieldError(t, err, c.field, c.fix)
			if fe := fieldError(t, err); fe.Line != c.line {
				t.Errorf("line %d, want %d, of error: %v", fe.Line, c.line, err)
			}
			if c.line > 0 && !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", c.line)) {
				t.Errorf("the message hides the line: %v", err)
			}
			if doc != nil {
				t.Errorf("an error comes with the document %+v", doc)
			}
		})
	}
}

func TestDocumentForms(t *testing.T) {
	doc := mustDocument(t, "limits: {b: {capacity: 2, refill: 100/60s, on_unavailable: local}, 'null': {capacity: 1, refill: 1/1.5s}}")
	text, err := doc.YAML()
	const wantYAML = `limits:
  b:
    algorithm: token-bucket
    capacity: 2
    refill: 100/m
    on_unavailable: local
  "null":
    algorithm: token-bucket
    capacity: 1
    refill: 1/1.5s
    on_unavailable: allow
`
	if err != nil || string(text) != wantYAML {
		t.Errorf("got YAML, %v:\n%s\nwant:\n%s", err, text, wantYAML)
	}
	const wantJSON = `{"limits":{` +
		`"b":{"algorithm":"token-bucket","capacity":2,"refill":"100/m","on_unavailable":"local"},` +
		`"null":{"algorithm":"token-bucket","capacity":1,"refill":"1/1.5s","on_unavailable":"allow"}}}`
	object, err := json.Marshal(doc)
	if err != nil || string(object) != wantJSON {
		t.Errorf("got JSON, %v:\n%s\nwant:\n%s", err, object, wantJSON)
	}
	wantSameDocument(t, doc)
	wantSameDocument(t, mustDocument(t, "limits: {}"))
	wantSameDocument(t, &limit.Document{})
}

// wantSameDocument asserts that the document is read back from both of its forms.
func wantSameDocument(t *testing.T, doc *limit.Document) {
	t.Helper()
	text, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{string(text), string(object)} {
		if got, want := stored(mustDocument(t, form)), stored(doc); !slices.Equal(got, want) {
			t.Fatalf("read back as %+v, want %+v, from:\n%s", got, want, form)
		}
		if d := limit.Difference(doc, mustDocument(t, form)); len(d.Names()) > 0 {
			t.Fatalf("read back with the differences %+v, from:\n%s", d.Fields, form)
		}
	}
}

func TestDocumentResolve(t *testing.T) {
	doc := mustDocument(t, "limits: {login: {capacity: 10, refill: 1/s}}")
	burst := limit.Limit{Name: "burst", Capacity: 3, Refill: perSecond(1)}

	stored, ok := doc.Rule("login")
	if !ok || stored.Capacity != 10 {
		t.Fatalf("stored rule %+v, %v", stored, ok)
	}
	if rule, ok := doc.Rule("burst"); ok {
		t.Errorf("a rule that is not stored: %+v", rule)
	}
	if rule, err := doc.Resolve(limit.Named("login")); err != nil || rule != stored {
		t.Errorf("login resolves to %+v, %v", rule, err)
	}
	if rule, err := doc.Resolve(limit.Inline(burst)); err != nil || rule.Name != "burst" || rule.Capacity != 3 {
		t.Errorf("burst resolves to %+v, %v", rule, err)
	}
	if _, err := doc.Resolve(limit.Named("burst")); !errors.Is(err, limit.ErrUnknownLimit) || err.Error() != `unknown limit "burst"` {
		t.Errorf("an unknown name: %v", err)
	}
	login := burst
	login.Name = "login"
	_, err := doc.Resolve(limit.Inline(login))
	wantFieldError(t, err, "limits.login", "is a stored limit: send only its name, or give your own limit another name")
	_, err = doc.Resolve(limit.Ref{Name: "burst", Inline: &login})
	wantFieldError(t, err, "limits.burst.name", "use one name")
	burst.Capacity = 0
	_, err = doc.Resolve(limit.Inline(burst))
	wantFieldError(t, err, "limits.burst.capacity", "at least 1 token")
}

func FuzzParseDocument(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "---\n", "limits:\n",
		"limits:\n  login:\n    algorithm: token-bucket\n    capacity: 10\n    refill: 1/s\n    on_unavailable: deny\n",
		`{"limits": {"a": {"capacity": 2305843009213693952, "refill": "1/ns"}, "null": {"capacity": 1, "refill": "1/1.5s"}}}`,
		"limits:\n  a: &a {capacity: &n 10, refill: 1/s}\n  b: *a\n  c: {capacity: *n, refill: 5/3ms}\n",
		"limits: &a {x: *a}", "limits: {x: {<<: {capacity: 1}}}", "? [a]\n: b", "limits: {? {} : b}", "*a", "a\n---\nb", "a: b: c",
		"limits: {1e3: {capacity: 1, refill: 1/s}, true: {capacity: 1, refill: 1/s}, 'y': {capacity: 0o7, refill: 1/s}}",
		"limits: {a: {algorithm: fixed-window, limit: 100, window: 1m}, b: {algorithm: fixed-window, limit: 9, per: month, timezone: Etc/GMT+5, anchor: 031}}",
		"limits: {a: {algorithm: fixed-window, limit: 1, per: year, anchor: 02-29}, b: {algorithm: fixed-window, limit: 1, per: week, anchor: Friday}}",
		"limits: {a: {capacity: 1, refill: 1/s, plans: {pro: {capacity: 2, refill: 3/m}, 0: {refill: 1/1.5s}}, overrides: [{key: 'org:*', capacity: 5}, {key: 7, deny: true}]}}",
		"limits: {a: {algorithm: sliding-log, limit: 9, window: 1s, plans: &p {x: {limit: 1}}, overrides: [&o {key: \"\\x00\\u2028*\", allow: true}, *o]}}",
		"limits: {a: {capacity: 1, refill: 1/s, reserve: exact}, b: {algorithm: sliding-window, limit: 9, window: 1m, reserve: 50%, plans: {p: {limit: 1}}}}",
		"limits: {a: {capacity: 1, refill: 1/s, overrides: [{key: \"\\x00\\u2028\\\"'*\", allow: true}]}}",
		"limits: {a: {capacity: 1, refill: 1/s, overrides: [{key: \"\\x7f\\x80\\x85\\x9f\\ufeff\\ufffe\\uffff*\", allow: true}]}}",
		"%YAML 1.1\n---\n!!map {!!str limits: !!null }", "limits: {a: {capacity: |\n 10\n, refill: >-\n 1/s\n}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := limit.ParseDocument(text)
		if err != nil {
			fieldError(t, err)
			return
		}
		wantSameDocument(t, doc)
	})
}

// An unknown name is compared with those of a few stored limits, and not with those of many: checks of unknown limits would cost much.
func TestDocumentNear(t *testing.T) {
	limits := make([]limit.Limit, 257)
	for i := range limits {
		limits[i] = limit.Limit{Name: fmt.Sprintf("tenant-%03d", i), Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}}
	}
	for n, want := range map[int]string{0: "", 256: "tenant-007", 257: ""} {
		doc, err := limit.NewDocument(limits[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		if near := doc.Near("tenant_007"); near != want || doc.Len() != n {
			t.Errorf("near to tenant_007 of %d limits is %q, want %q", doc.Len(), near, want)
		}
		if made := testing.AllocsPerRun(10, func() { doc.Near("tenant_") }); n > 256 && made > 0 {
			t.Errorf("%v allocations for an unknown name", made)
		}
	}
}

// TestDocumentIsUTF8 refuses what YAML would read and JSON would change on the way to the other nodes.
func TestDocumentIsUTF8(t *testing.T) {
	for _, text := range []string{"\xff\xfe", "\xfe\xff", "\xff\xfel\x00", "limits: {} # \xff"} {
		if _, err := limit.ParseDocument([]byte(text)); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A rule that a request defines may outlive the message that the request came in, of which its texts are pieces: it must not keep that.
func TestInlineRuleHasTextsOfItsOwn(t *testing.T) {
	message := strings.Repeat("some message", 10) + "burstfixed-windowmonthEurope/Berlin15deny"
	at := strings.Index(message, "burst")
	piece := func(length int) string { at += length; return message[at-length : at] }
	l := limit.Limit{Name: piece(5), Algorithm: piece(12), Per: piece(5), Timezone: piece(13), Anchor: piece(2), OnUnavailable: limit.Policy(piece(4)), Capacity: 5}
	rule, err := (&limit.Document{}).Resolve(limit.Inline(l))
	if err != nil {
		t.Fatal(err)
	}
	start := uintptr(unsafe.Pointer(unsafe.StringData(message)))
	for _, text := range []string{rule.Name, rule.Algorithm, rule.Per, rule.Timezone, rule.Anchor, string(rule.OnUnavailable), rule.Register()} {
		if p := uintptr(unsafe.Pointer(unsafe.StringData(text))); p >= start && p < start+uintptr(len(message)) {
			t.Errorf("%q is a piece of the message", text)
		}
	}
}
