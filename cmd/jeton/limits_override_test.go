package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/ring/cluster"
)

// Operators override limits for keys and prefixes, and block keys, without a change of the document.
func TestOverridesOfOperators(t *testing.T) {
	n := aCluster(t)
	env := map[string]string{"JETON_SERVER": n.GRPCAddr()}
	says(t, env, "limits override list", cli.ExitOK, "no overrides are in force")
	before := says(t, env, "limits get", cli.ExitOK)
	says(t, env, "limits override set demo org:acme:* --capacity 77 --for 2h", cli.ExitOK, "demo of org:acme:*: capacity: 77, for 2h")
	says(t, env, "check demo org:acme:1", cli.ExitOK, "76 of 77 left")
	says(t, env, "bucket demo org:acme:1", cli.ExitOK, `capacity: 77 for "org:acme:*" until 20`)
	says(t, env, "limits override set demo org:good --allow", cli.ExitOK, "until it is unset")
	says(t, env, "check demo org:good --cost 1000000", cli.ExitOK, "allowed")
	page := says(t, env, "bucket demo user:9 --block 10m", cli.ExitOK, "denied       every check, until ", `deny for "user:9"`, "tokens now")
	if strings.Index(page, "every check") > strings.Index(page, "tokens now") {
		t.Errorf("the page of a blocked key tells of the bucket first:\n%s", page)
	}
	says(t, env, "bucket demo user:9 --output json", cli.ExitOK, `"verdict":"deny","override_until_ns":"`)
	// Less by what has passed since it was blocked.
	if said := says(t, env, "check demo user:9", cli.ExitNo, "denied"); !regexp.MustCompile(`try again in (10m|9m\d\ds?)`).MatchString(said) {
		t.Errorf("a key that is blocked for 10m is told %q", said)
	}
	says(t, env, "limits override set demo user:9 --deny", cli.ExitOK)
	says(t, env, "bucket demo user:9", cli.ExitOK, `denied       every check, until the override is unset: deny for "user:9"`)
	says(t, env, "bucket demo org:good", cli.ExitOK, `allowed      every check, uncounted, until the override is unset: allow for "org:good"`)
	says(t, env, "check demo user:9", cli.ExitNo, "try again in 1m")
	says(t, env, "bucket demo user:9 --unblock", cli.ExitOK)
	says(t, env, "check demo user:9", cli.ExitOK)
	says(t, env, "bucket demo user:9 --unblock", cli.ExitError, "demo of user:9 is not blocked")
	says(t, env, "bucket demo org:good --unblock", cli.ExitError, `says allow, not deny: jeton limits override unset`)
	says(t, env, "audit", cli.ExitOK, "set override demo org:acme:*: capacity: 77 for 2h0m0s", "set override demo user:9: deny for 10m0s",
		"set override demo user:9: deny, was deny", "unset override demo user:9")
	var all []cluster.OverrideStatus
	if err := json.Unmarshal([]byte(says(t, env, "limits override list demo --output json", cli.ExitOK)), &all); err != nil || len(all) != 2 ||
		all[0].Key != "org:acme:*" || all[0].Until.IsZero() || !all[1].Until.IsZero() || all[1].Who != "no credentials" {
		t.Errorf("%+v: %v", all, err)
	}
	says(t, env, "limits override unset demo org:good", cli.ExitOK)
	says(t, env, "limits override unset demo org:good", cli.ExitOK, "demo of org:good has no override")
	if after := says(t, env, "limits get", cli.ExitOK); after != before {
		t.Errorf("the document is %q, and was %q", after, before)
	}
}

// A change of a limit says which live overrides have no effect from then on, and the list marks them.
func TestOverridesWithoutEffect(t *testing.T) {
	f := newLimitsFile(t)
	says(t, f.env, "limits override set demo user:1 --capacity 20", cli.ExitOK)
	says(t, f.env, "limits override set demo user:2 --deny", cli.ExitOK)
	const unfit = "capacity: does not fit the algorithm fixed-window"
	f.write("limits: {demo: {algorithm: fixed-window, limit: 10, window: 1m}}")
	for _, verb := range []string{"diff", "apply"} {
		code := cli.ExitOK
		if verb == "diff" {
			code = cli.ExitNo
		}
		f.run(verb+" --merge", code, `live overrides that have no effect from now on: 1, capacity: 20 for "user:1" (`+unfit)
	}
	list := says(t, f.env, "limits override list", cli.ExitOK, "(no effect: "+unfit)
	if strings.Count(list, "no effect") != 1 {
		t.Errorf("the list says %s", list)
	}
	says(t, f.env, "limits override list --output json", cli.ExitOK, `"no_effect":"`+unfit)
}

// What stands in the document is taken out there: to unset it is an error that says so, unless a live one covers it.
func TestUnsetOfWrittenOverrides(t *testing.T) {
	f := newLimitsFile(t)
	f.write("limits: {demo: {capacity: 10, refill: 1/s, overrides: [{key: 'user:7', deny: true}, {key: 'org:*', capacity: 5}]}}")
	f.run("apply --merge", cli.ExitOK)
	const stands = "stands in the limits document, and is not set live: take it out there (jeton limits get, then jeton limits apply)"
	says(t, f.env, "limits override unset demo user:7", cli.ExitError, `the override of demo for "user:7" `+stands)
	says(t, f.env, "limits override unset demo org:*", cli.ExitError, `the override of demo for "org:*" `+stands)
	says(t, f.env, "bucket demo user:7 --unblock", cli.ExitError, stands)
	says(t, f.env, "limits override set demo user:7 --allow", cli.ExitOK)
	says(t, f.env, "limits override unset demo user:7", cli.ExitOK)
	says(t, f.env, "check demo user:7", cli.ExitNo, "denied")
	says(t, f.env, "limits override unset demo user:8", cli.ExitOK, "demo of user:8 has no override")
}

// Overrides are listed page by page: over HTTP with next and after, by the CLI all of them.
func TestManyOverridesAreListed(t *testing.T) {
	n := aCluster(t)
	f := &limitsFile{t, filepath.Join(t.TempDir(), "limits.yaml"), map[string]string{"JETON_SERVER": n.GRPCAddr()}}
	var text strings.Builder
	text.WriteString("limits: {demo: {capacity: 10, refill: 1/s, overrides: [")
	const many = 2300
	for i := range many {
		fmt.Fprintf(&text, "{key: 'user:%04d', deny: true}, ", i)
	}
	f.write(text.String() + "]}}")
	f.run("apply --merge", cli.ExitOK)
	says(t, f.env, "limits override set demo user:0007 --allow", cli.ExitOK)
	says(t, f.env, "limits override set demo user:1000a --allow", cli.ExitOK)
	if list := says(t, f.env, "limits override list", cli.ExitOK); strings.Count(list, "\n") != many+2 || strings.Count(list, "user:0007") != 1 {
		t.Errorf("it lists %d lines", strings.Count(list, "\n"))
	}
	var all []cluster.OverrideStatus
	if err := json.Unmarshal([]byte(says(t, f.env, "limits override list --output json", cli.ExitOK)), &all); err != nil {
		t.Fatal(err)
	}
	var paged []cluster.OverrideStatus
	for after, pages := "", 1; ; pages++ {
		var page struct {
			Overrides []cluster.OverrideStatus
			Next      string
		}
		_, body := get(t, "http://"+n.HTTPAddr()+"/v1/overrides?limit=demo&after="+url.QueryEscape(after))
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page.Overrides...)
		if after = page.Next; after == "" {
			if pages != 3 {
				t.Errorf("there are %d pages", pages)
			}
			break
		}
	}
	if len(all) != many+1 || !reflect.DeepEqual(all, paged) || !slices.IsSortedFunc(all, cluster.OverrideStatus.Compare) {
		t.Errorf("of %d overrides the CLI lists %d and HTTP %d", many+1, len(all), len(paged))
	}
	for query, want := range map[string]string{"after=demo": "names no override", "limits=demo": "the only parameters are limit and after"} {
		if _, got := get(t, "http://"+n.HTTPAddr()+"/v1/overrides?"+query); !strings.Contains(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
}

func TestBadOverrides(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aCluster(t).GRPCAddr()}
	for args, want := range map[string]string{
		"limits override set nothing k --deny":            `unknown limit "nothing"`,
		"limits override set demo k":                      "say what is other for the key",
		"limits override set demo * --deny":               "stands for every key",
		"limits override set demo org:*:x --deny":         `key: a * stands for the rest of a key, so only at the end: write "org:*"`,
		"bucket demo a*b --block 1m":                      `key: a * stands for the rest of a key, so only at the end: write "a*"`,
		"limits override set demo k --capacity -3":        "capacity: ",
		"limits override set demo k --refill 5/q":         "refill: ",
		"limits override set demo k --limit 5":            "limit: does not fit the algorithm",
		"limits override set demo k --deny --capacity 5":  "--deny: every check gets this answer",
		"limits override set demo k --deny --allow":       "--allow: every check gets this answer",
		"limits override set demo k --deny --for 0s":      "--for: 0s: give a time",
		"limits override set demo k --deny --for -1s":     "--for: -1s: give a time",
		"limits override set demo k --deny --for 999999h": "for: 999999h0m0s: give a time from 1s to 87600h",
		"bucket demo k --block 0":                         "--block: 0s: give a time such as 10m",
		"bucket demo k --block -1s":                       "--block: -1s: give a time such as 10m",
		"bucket demo k --block 1s --unblock":              "leave one of them out",
		"bucket demo org:* --block 1s":                    "stands for all keys with this beginning",
	} {
		says(t, env, args, cli.ExitError, want)
	}
	says(t, env, "limits override list", cli.ExitOK, "no overrides are in force")
}
