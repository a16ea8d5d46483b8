package route_test

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/route"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"": "/", "/": "/", "//": "/", "/a": "/a", "/a/": "/a", "a": "/a", "/a//b": "/a/b", "/./a": "/a", "/a/.": "/a", "/a/..": "/",
		"/../../a": "/a", "/a/../b": "/b", "/a/.../b": "/a/.../b", "/.a/b.": "/.a/b.", "*": "/*", "/a b/ä": "/a b/ä", "/%2e": "/%2e",
	} {
		if got := route.Clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { route.Clean("/api/v1/users") }); n != 0 {
		t.Errorf("a clean path takes %v allocations", n)
	}
}

func TestAmbiguous(t *testing.T) {
	for in, want := range map[string]bool{
		"/": false, "": false, "/a/b": false, "/a//b": false, "/a/": false, "/...": false, "/.a/b./c.d": false, "/a%20b": false,
		"/%7Euser": false, "/a;v=1/b": false, "/a%25b": false, "/%C3%A4": false, "/a;..": false, "/..a": false, "/;": false, "*": false,
		"/.": true, "/..": true, "/a/./b": true, "/a/../b": true, "..": true, "/%2e": true, "/%2E%2e/a": true, "/.%2e": true,
		"/a%2fb": true, "/a%2Fb": true, `/a\b`: true, "/a%5cb": true, "/a%5C": true, "/a%00": true, "/a\x00": true,
		"/..;/a": true, "/.;x=1/a": true, "/%2e%2e%3bx/a": true, "/a;b%2fc": true, "/a%": true, "/a%2": true, "/a%zz": true, "/%": true,
	} {
		if got := route.Ambiguous(in); got != want {
			t.Errorf("%q: got %v, want %v", in, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { route.Ambiguous("/api/v1/users/%C3%A4") }); n != 0 {
		t.Errorf("looking takes %v allocations", n)
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "/", "//a/./b/../c/", "a/..", "/a\x00\\..\\b", "/ä/%2e/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := route.Clean(in)
		if !strings.HasPrefix(got, "/") || got != "/" && strings.HasSuffix(got, "/") {
			t.Fatalf("%q became %q", in, got)
		}
		if again := route.Clean(got); again != got {
			t.Fatalf("%q became %q and then %q", in, got, again)
		}
		// The slow way: a stack of segments.
		var stack []string
		for s := range strings.SplitSeq(in, "/") {
			switch {
			case s == "..":
				stack = stack[:max(len(stack)-1, 0)]
			case s != "" && s != ".":
				stack = append(stack, s)
			}
		}
		if want := "/" + strings.Join(stack, "/"); got != want {
			t.Fatalf("%q: got %q, want %q", in, got, want)
		}
	})
}

// What is not ambiguous has the same segments whether a server splits it first or unescapes it first, and whether or not
// it resolves dot segments in between.
func FuzzAmbiguous(f *testing.F) {
	for _, seed := range []string{"/", "/a/b", "/a%2fb", "/%2e%2e/x", "/..;/x", `/a\b`, "/a%00b", "/a%", "/%c3%a4/;", "/a%252fb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if route.Ambiguous(raw) {
			return
		}
		whole, err := url.PathUnescape(raw)
		if err != nil {
			t.Fatalf("%q: %v, and yet not ambiguous", raw, err)
		}
		var each []string
		for s := range strings.SplitSeq(raw, "/") {
			one, err := url.PathUnescape(s)
			if err != nil {
				t.Fatal(err)
			}
			each = append(each, one)
		}
		if !slices.Equal(each, strings.Split(whole, "/")) {
			t.Fatalf("%q: unescaped first it is %q, split first %q", raw, whole, each)
		}
		if strings.ContainsAny(whole, "\\\x00") {
			t.Fatalf("%q has a backslash or a NUL", raw)
		}
		slashes := func(s string) string { return strings.Join(split(s), "/") }
		if got := strings.TrimPrefix(path.Clean("/"+whole), "/"); got != slashes(whole) {
			t.Fatalf("%q has dot segments", raw)
		}
	})
}

func FuzzFind(f *testing.F) {
	for _, seed := range [][3]string{
		{"h", "GET", "/a/b"},
		{"X.H:80", "HEAD", "//a/../b/"},
		{"[::1]:443", "POST", ""},
		{"[::ffff:c000:201%25z", "", "/a/b/c/d"},
		{strings.Repeat("a.", 200), "GET", "/health-data"},
		{":", "GET", "*"},
		{"]", "GET", "/\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	routes := routesOf("all|/", "a|/a|h|GET", "ab|/a/{b}|*.h", "abc|/{a}/b/{c}||POST", "abcd|/a/b/c/d$", "six|/a|[::1]")
	table := newTable(f, routes)
	f.Fuzz(func(t *testing.T, host, method, path string) {
		host, _, _ = route.Host(host)
		i, params := table.Find(host, method, path)
		if i < 0 {
			t.Fatal("/ covers everything")
		}
		clean := route.Clean(path)
		pattern, exact := strings.CutSuffix(routes[i].Path, "$")
		want := split(pattern)
		for k, segment := range want {
			if strings.HasPrefix(segment, "{") {
				if len(params) == 0 || "{"+params[0].Name+"}" != segment || params[0].Value == "" {
					t.Fatalf("%s of %q has the params %v", segment, pattern, params)
				}
				want[k], params = params[0].Value, params[1:]
			}
		}
		if got := split(clean); len(got) < len(want) || exact && len(got) > len(want) || !slices.Equal(got[:len(want)], want) {
			t.Fatalf("%q is not what %q covers, with %q", clean, routes[i].Path, want)
		}
		if j, _ := table.Find(host, method, clean); j != i {
			t.Fatalf("%q meets %s, and cleaned %s", path, routes[i].Name, routes[j].Name)
		}
	})
}
