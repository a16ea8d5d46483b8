package route_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/route"
)

// rank is how well a route fits a request; the later in slices.Compare the better. nil means not at all.
func rank(r config.Route, host, method string, segments []string) []int {
	path, exact := strings.CutSuffix(r.Path, "$")
	want := split(path)
	if len(want) > len(segments) || exact && len(want) != len(segments) {
		return nil
	}
	rank := []int{len(want)}
	for i, w := range want {
		switch {
		case strings.HasPrefix(w, "{"):
			rank = append(rank, 0)
		case w == segments[i]:
			rank = append(rank, 1)
		default:
			return nil
		}
	}
	hostRank := best(r.Hosts, func(h string) int {
		switch suffix, wild := strings.CutPrefix(h, "*"); {
		case wild && strings.HasSuffix(host, suffix) && len(host) > len(suffix):
			return len(suffix)
		case h == host:
			return 1000
		}
		return -1
	})
	methodRank := best(r.Methods, func(m string) int {
		switch {
		case m == method:
			return 2
		case m == "GET" && method == "HEAD":
			return 1
		}
		return -1
	})
	if hostRank < 0 || methodRank < 0 {
		return nil
	}
	return append(rank, map[bool]int{true: 1}[exact], hostRank, methodRank)
}

// best is the greatest rank that one of the list has, -1 for none of them, 0 for an empty list.
func best(list []string, rank func(string) int) int {
	if len(list) == 0 {
		return 0
	}
	most := -1
	for _, one := range list {
		most = max(most, rank(one))
	}
	return most
}

func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

// model is Find, by looking at every route.
func model(routes []config.Route, host, method, path string) string {
	segments, found := split(path), -1
	var most []int
	for i, r := range routes {
		if got := rank(r, host, method, segments); got != nil && (found < 0 || slices.Compare(got, most) > 0) {
			found, most = i, got
		}
	}
	if found < 0 {
		return ""
	}
	text := routes[found].Name
	for i, w := range split(strings.TrimSuffix(routes[found].Path, "$")) {
		if strings.HasPrefix(w, "{") {
			text += " " + strings.Trim(w, "{}") + "=" + segments[i]
		}
	}
	return text
}

// names finds the {name}s of a path.
var names = regexp.MustCompile(`\{[^}]*\}`)

// alike says whether some request fits both routes equally well.
func alike(a, b config.Route) bool {
	shape := func(path string) string { return names.ReplaceAllString(path, "{}") }
	shared := func(a, b []string) bool {
		return len(a) == 0 && len(b) == 0 || slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
	}
	return shape(a.Path) == shape(b.Path) && shared(a.Hosts, b.Hosts) && shared(a.Methods, b.Methods)
}

var (
	segment = rapid.SampledFrom([]string{"a", "b", "c"})
	host    = rapid.SampledFrom([]string{"h", "x.h", "y.x.h", "i"})
	method  = rapid.SampledFrom([]string{"GET", "HEAD", "POST"})
)

func drawRoute(t *rapid.T, i int) config.Route {
	r := config.Route{Name: fmt.Sprint("r", i), Path: "/"}
	for k := range rapid.IntRange(0, 4).Draw(t, "segments") {
		if k > 0 {
			r.Path += "/"
		}
		if rapid.Bool().Draw(t, "literal") {
			r.Path += segment.Draw(t, "segment")
		} else {
			r.Path += fmt.Sprintf("{n%d}", k+10*i)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "exact") == 0 {
		r.Path += "$"
	}
	r.Hosts = rapid.SliceOfN(rapid.OneOf(host, rapid.SampledFrom([]string{"*.h", "*.x.h"})), 0, 2).Draw(t, "hosts")
	r.Methods = rapid.SliceOfN(method, 0, 2).Draw(t, "methods")
	return r
}

func TestFindMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var routes []config.Route
		for i := range rapid.IntRange(0, 20).Draw(t, "routes") {
			r := drawRoute(t, i)
			clash := slices.IndexFunc(routes, func(other config.Route) bool { return alike(r, other) })
			if clash < 0 {
				routes = append(routes, r)
				continue
			}
			_, err := route.New(append(slices.Clone(routes), r))
			if err == nil || !strings.Contains(err.Error(), "("+r.Name+")") {
				t.Fatalf("%+v beside %+v: got %v, want an error", r, routes[clash], err)
			}
		}
		table, err := route.New(routes)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			path := "/" + strings.Join(rapid.SliceOfN(segment, 0, 5).Draw(t, "path"), "/")
			h, m := host.Draw(t, "host"), method.Draw(t, "method")
			want := model(routes, h, m, path)
			if got := find(table, routes, h, m, path); got != want {
				t.Fatalf("%s %s%s of %+v: got %q, want %q", m, h, path, routes, got, want)
			}
		}
	})
}

// A model that ranks everything alike would agree with anything.
func TestModelRanks(t *testing.T) {
	r := func(text string) []int { return rank(of(text), "x.h", "HEAD", []string{"a", "b"}) }
	order := []string{
		"r|/", "r|/|*.h", "r|/|x.h", "r|/{n}", "r|/{n}||GET", "r|/{n}||HEAD", "r|/a", "r|/{n}/b", "r|/a/{n}",
		"r|/a/b", "r|/a/b$",
	}
	if r("r|/$") != nil || r("r|/b") != nil || r("r|/|i") != nil || r("r|/||POST") != nil {
		t.Error("something fits that does not")
	}
	for i := range order[1:] {
		if slices.Compare(r(order[i]), r(order[i+1])) >= 0 {
			t.Errorf("%s is not ranked below %s", order[i], order[i+1])
		}
	}
}
