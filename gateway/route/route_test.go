package route_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/route"
)

// of is a route written "name|path|hosts|methods", the last two lists with commas, which may be left out.
func of(text string) config.Route {
	parts := append(strings.Split(text, "|"), "", "")
	list := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(s, ",")
	}
	return config.Route{Name: parts[0], Path: parts[1], Hosts: list(parts[2]), Methods: list(parts[3])}
}

func routesOf(texts ...string) []config.Route {
	routes := make([]config.Route, 0, len(texts))
	for _, text := range texts {
		routes = append(routes, of(text))
	}
	return routes
}

func newTable(tb testing.TB, routes []config.Route) *route.Table {
	tb.Helper()
	table, err := route.New(routes)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

// find is the name of the route that a request meets, with its params, such as "user id=42", and empty for none.
func find(table *route.Table, routes []config.Route, host, method, path string) string {
	host, _, _ = route.Host(host)
	i, params := table.Find(host, method, path)
	if i < 0 {
		return ""
	}
	found := routes[i].Name
	for _, p := range params {
		found += " " + p.Name + "=" + p.Value
	}
	return found
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		routes []string
		want   map[string]string // "GET host/path" → find
	}{
		"whole segments": {
			[]string{"health|/health"},
			map[string]string{
				"GET a/health": "health", "GET a/health/": "health", "GET a/health/db": "health", "GET a//health//db": "health",
				"GET a/health-data": "", "GET a/healt": "", "GET a/": "", "GET a/x/health": "", "GET a/Health": "",
				"GET a/x/../health": "health", "GET a/health/../other": "",
			},
		},
		"the longest path": {
			[]string{"all|/", "api|/api", "users|/api/users", "user|/api/users/{id}", "keys|/api/users/{id}/keys"},
			map[string]string{
				"GET a/": "all", "GET a/x/y/z": "all", "GET a/api": "api", "GET a/api/x": "api", "GET a/api/users": "users",
				"GET a/api/users/42": "user id=42", "GET a/api/users/42/x": "user id=42", "GET a/api/users/42/keys": "keys id=42",
				"GET a/api/users/42/keys/7": "keys id=42",
			},
		},
		"literal before name, from the left": {
			[]string{"lit|/a/b", "any|/a/{x}", "late|/{x}/b", "deep|/a/{x}/c"},
			map[string]string{
				"GET h/a/b": "lit", "GET h/a/z": "any x=z", "GET h/y/b": "late x=y", "GET h/y/z": "",
				"GET h/a/b/c": "deep x=b", "GET h/a/b/d": "lit",
			},
		},
		"back out of a literal branch": {
			[]string{"a|/a/b/c$", "b|/{x}/b"},
			map[string]string{"GET h/a/b/c": "a", "GET h/a/b/d": "b x=a", "GET h/a/b": "b x=a", "GET h/a/b/c/d": "b x=a"},
		},
		"a dollar covers nothing below": {
			[]string{"root|/$", "exact|/x$", "below|/x", "only|/y$", "name|/z/{a}$"},
			map[string]string{
				"GET h/": "root", "GET h/a": "", "GET h/x": "exact", "GET h/x/": "exact", "GET h/x/1": "below", "GET h/y": "only",
				"GET h/y/1": "", "GET h/z/1": "name a=1", "GET h/z/1/2": "", "GET h/z": "",
			},
		},
		"the dollar before the host": {
			[]string{"exact|/x$", "host|/x|h"},
			map[string]string{"GET h/x": "exact", "GET h/x/1": "host", "GET i/x/1": ""},
		},
		"hosts": {
			[]string{"any|/p", "host|/p|a.example.com", "wild|/p|*.example.com", "wilder|/p|*.a.example.com", "long|/p/q"},
			map[string]string{
				"GET a.example.com/p": "host", "GET A.Example.COM/p": "host", "GET a.example.com:8080/p": "host",
				"GET a.example.com./p": "host", "GET a.example.com.:80/p": "host", "GET b.example.com/p": "wild",
				"GET c.b.example.com/p": "wild", "GET x.a.example.com/p": "wilder", "GET example.com/p": "any",
				"GET xexample.com/p": "any", "GET a.example.com.evil/p": "any",
				"GET a.example.com/p/q": "long", // a longer path goes before any host
			},
		},
		"hosts that are addresses": {
			[]string{"six|/|[2001:DB8::1]", "bare|/|2001:db8:0:0::2", "four|/|192.0.2.1", "any|/"},
			map[string]string{
				"GET [2001:db8::1]/p": "six", "GET [2001:db8::1]:443/p": "six", "GET [2001:DB8:0::1]/p": "six",
				"GET [2001:db8::2]:1/p": "bare",
				"GET 192.0.2.1:80/p":    "four", "GET [2001:db8::3]/p": "any",
			},
		},
		"a host without a fitting method gives way": {
			[]string{"host|/|a.b.c|POST", "wild|/|*.b.c|PUT", "wilder|/|*.c|PATCH", "any|/"},
			map[string]string{
				"POST a.b.c/": "host", "PUT a.b.c/": "wild", "PATCH a.b.c/": "wilder", "GET a.b.c/": "any", "POST z.b.c/": "any",
			},
		},
		"methods": {
			[]string{"read|/|*.h|GET", "write|/||POST,PUT", "rest|/"},
			map[string]string{
				"GET x.h/": "read", "HEAD x.h/": "read", "POST x.h/": "write", "PUT y/": "write", "DELETE y/": "rest", "get x.h/": "rest",
			},
		},
		"HEAD by itself goes before GET": {
			[]string{"get|/||GET", "head|/||HEAD", "any|/"},
			map[string]string{"GET h/": "get", "HEAD h/": "head", "OPTIONS h/": "any"},
		},
		"GET covers HEAD before any method": {
			[]string{"get|/||GET", "any|/"},
			map[string]string{"HEAD h/": "get", "POST h/": "any"},
		},
		"a method or host that no route has": {
			[]string{"post|/||POST", "host|/|h"},
			map[string]string{"GET i/": "", "POST i/": "post", "GET h/": "host", "POST h/": "host"},
		},
		"no routes": {nil, map[string]string{"GET h/": ""}},
		"names":     {[]string{"r|/{a}/x/{b}/{c}"}, map[string]string{"GET h/1/x/ä b/3/4": "r a=1 b=ä b c=3"}},
	} {
		t.Run(name, func(t *testing.T) {
			routes := routesOf(c.routes...)
			for range len(routes) + 1 { // in any order
				table := newTable(t, routes)
				for request, want := range c.want {
					method, rest, _ := strings.Cut(request, " ")
					host, path, _ := strings.Cut(rest, "/")
					if got := find(table, routes, host, method, "/"+path); got != want {
						t.Errorf("%s: got %q, want %q", request, got, want)
					}
				}
				if len(routes) > 0 {
					routes = append(slices.Clone(routes[1:]), routes[0])
				}
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		routes []string
		want   []string // in the error
	}{
		"a path twice":           {[]string{"a|/x", "b|/x"}, []string{"routes[1] (b)", "routes[0] (a)", "every method of /x at every host"}},
		"names differ":           {[]string{"a|/x/{y}", "b|/x/{z}"}, []string{"(a)", "(b)"}},
		"hosts overlap":          {[]string{"a|/|one,two", "b|/|three,TWO."}, []string{"(a)", "(b)", "at two"}},
		"wildcards":              {[]string{"a|/|*.two", "b|/|*.TWO"}, []string{"(a)", "(b)", "at *.two"}},
		"addresses":              {[]string{"a|/|[::1]", "b|/|0:0::1"}, []string{"(a)", "(b)", "at [::1]"}},
		"methods overlap":        {[]string{"a|/||GET,POST", "b|/||PUT,POST"}, []string{"(a)", "(b)", "POST of /"}},
		"both, with a dollar":    {[]string{"a|/x$|h|GET", "b|/x$|h|GET"}, []string{"(a)", "(b)", "GET of /x$ at h"}},
		"a path without a slash": {[]string{"a|x"}, []string{"routes[0] (a)", "path", "slash"}},
		"half a name":            {[]string{"a|/x{y}"}, []string{"routes[0] (a)", "path"}},
		"a host with a port":     {[]string{"a|/|h:80"}, []string{"hosts[0]", `"h:80"`, "without a port"}},
		"a host with a path":     {[]string{"a|/|h,h/p"}, []string{"hosts[1]"}},
		"a star inside":          {[]string{"a|/|a.*.b"}, []string{"hosts[0]"}},
		"a star alone":           {[]string{"a|/|*."}, []string{"hosts[0]"}},
		"an empty label":         {[]string{"a|/|a..b"}, []string{"hosts[0]"}},
		"a wildcard address":     {[]string{"a|/|*.::1"}, []string{"hosts[0]"}},
		"a zone":                 {[]string{"a|/|[fe80::1%eth0]"}, []string{"hosts[0]"}},
		"a host beyond ASCII":    {[]string{"a|/|bücher.example"}, []string{"hosts[0]"}},
		"a number":               {[]string{"a|/|127.1"}, []string{"hosts[0]"}},
		"a small method":         {[]string{"a|/||get"}, []string{"methods[0]", `"get"`, "upper case"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := route.New(routesOf(c.routes...))
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestNewTakesWhatDiffers(t *testing.T) {
	newTable(t, routesOf("a|/x", "b|/x$", "c|/x|h", "d|/x|*.h", "e|/x||GET", "f|/x||HEAD", "g|/{x}", "h|/x|h|GET", "i|/x|h,h|PUT,PUT"))
}

func TestPaths(t *testing.T) {
	paths, err := route.NewPaths([]string{"/health", "/metrics$", "/users/{id}/avatar", "/health"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/health": true, "/health/db": true, "/health/": true, "//health": true, "/health-data": false, "/": false, "": false,
		"/metrics": true, "/metrics/x": false, "/users/1/avatar": true, "/users/1": false, "/x/../health": true, "/health/../x": false,
	} {
		if got := paths.Covers(path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	none, err := route.NewPaths(nil)
	if err != nil || none.Covers("/") {
		t.Errorf("no patterns cover something, %v", err)
	}
	if _, err := route.NewPaths([]string{"/", "x"}); err == nil || !strings.Contains(err.Error(), "paths[1]") {
		t.Errorf("got %v, want an error about paths[1]", err)
	}
}

func TestFindAllocates(t *testing.T) {
	routes := routesOf("all|/", "users|/api/v1/users|api.example.com|GET", "wild|/api|*.example.com", "user|/api/v1/users/{id}/keys")
	table := newTable(t, routes)
	for request, want := range map[string]float64{
		"GET api.example.com/api/v1/users": 0, "HEAD api.example.com/api/v1/users/1": 0, "GET b.example.com/api": 0,
		"GET [2001:db8::1]/": 0, "GET h/api/v1/users/1/keys": 1,
	} {
		method, rest, _ := strings.Cut(request, " ")
		host, path, _ := strings.Cut(rest, "/")
		path = "/" + path
		if got := testing.AllocsPerRun(100, func() { table.Find(host, method, path) }); got != want {
			t.Errorf("%s: %v allocations, want %v", request, got, want)
		}
	}
	paths, err := route.NewPaths([]string{"/health"})
	if err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(100, func() { paths.Covers("/health/db") }); got != 0 {
		t.Errorf("Covers: %v allocations, want none", got)
	}
}

func BenchmarkFind(b *testing.B) {
	texts := []string{"all|/"}
	for _, a := range []string{"users", "orders", "items", "carts", "login"} {
		for _, c := range []string{"v1", "v2", "v3"} {
			texts = append(texts, a+c+"|/api/"+c+"/"+a+"|api.example.com", a+c+"-write|/api/"+c+"/"+a+"|api.example.com|POST,PUT",
				a+c+"-one|/api/"+c+"/"+a+"/{id}|*.example.com")
		}
	}
	table := newTable(b, routesOf(texts...))
	for name, path := range map[string]string{"literal": "/api/v3/orders", "name": "/api/v3/orders/4711", "default": "/static/app.css"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Find("api.example.com", "GET", path)
			}
		})
	}
}
