package config

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// program is a valid document that no file holds.
func program() *Document {
	return &Document{
		Proxy:  &Proxy{Upstreams: map[string]Upstream{"web": {URLs: []string{"http://127.0.0.1:9000"}}}},
		Admin:  Admin{TokenFile: FileOf([]byte("a-token-of-an-example\n"))},
		Routes: []Route{{Name: "all", Path: "/", Checks: []Check{{Limits: []string{"api"}}}}},
	}
}

// wantProblem asserts that exactly one thing is wrong.
func wantProblem(t *testing.T, d *Document, field, problem string) {
	t.Helper()
	err := d.Validate()
	if err == nil {
		t.Errorf("%s: no error, want %q", field, problem)
		return
	}
	found := problemsIn(t, err)
	if len(found) != 1 || found[0].Field != field || !strings.Contains(found[0].Problem, problem) || found[0].Line != 0 {
		t.Errorf("got %v, want one problem of %s that says %q", err, field, problem)
	}
}

// TestDocumentOfProgram validates what no text can hold; everything else is in testdata.
func TestDocumentOfProgram(t *testing.T) {
	if err := (&Document{}).Validate(); err != nil {
		t.Errorf("the zero document, of a middleware that limits nothing: %v", err)
	}
	if err := program().Validate(); err != nil {
		t.Error(err)
	}
	d := program()
	d.Admin.TokenFile = File{Path: "tokens"}
	wantProblem(t, d, "admin.token_file", "has not been read")

	d = program()
	d.Admin.TokenFile = FileOf(nil)
	wantProblem(t, d, "admin.token_file", "holds no token")
	d.Admin.TokenFile = FileOf([]byte("# what people read is no token\n"))
	wantProblem(t, d, "admin.token_file", "holds no token")

	d = program()
	d.Deny.Networks = []Network{{}}
	wantProblem(t, d, "deny.networks[0]", "is the zero value")

	d = program()
	d.Deny.Networks = []Network{{netip.MustParsePrefix("10.0.0.1/8")}}
	wantProblem(t, d, "deny.networks[0]", "write 10.0.0.0/8")

	d = program()
	d.Exempt.Networks = []Network{{netip.MustParsePrefix("::ffff:10.0.0.0/104")}}
	wantProblem(t, d, "exempt.networks[0]", "is of IPv4 within IPv6")

	d = program()
	d.Log.Allowed = math.NaN()
	wantProblem(t, d, "log.allowed", "from 0 to 1")

	d = program()
	nan := math.NaN()
	d.Routes[0].Checks[0].Choose = &Choose{By: "ip", When: []Case{{Below: &nan, Limits: []string{}}}}
	wantProblem(t, d, "routes[0].checks[0].choose.when[0].below", "is not a finite number")

	d = program()
	d.Cluster.DecideWithin = Duration(-time.Second)
	wantProblem(t, d, "cluster.decide_within", "out of range")

	d = program()
	d.Deny.Keys = []string{"\xff"}
	wantProblem(t, d, "deny.keys[0]", "is not valid UTF-8")
}

func TestListenersMayShareWhatDoesNotCollide(t *testing.T) {
	for _, c := range []struct {
		proxy, admin string
		collide      bool
	}{
		{"127.0.0.1:80", "127.0.0.1:81", false},
		{"127.0.0.1:0", "127.0.0.1:0", false},
		{"127.0.0.1:80", "127.0.0.2:80", false},
		{"127.0.0.1:80", "[::1]:80", false},
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"[::ffff:127.0.0.1]:80", "127.0.0.1:80", true},
		{":80", "127.0.0.1:80", true},
		{"[::]:80", "127.0.0.1:80", true},
		{"LOCALHOST:80", "localhost:80", true},
	} {
		d := program()
		d.Proxy.Listen, d.Admin.Listen = c.proxy, c.admin
		if !c.collide {
			if err := d.Validate(); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		wantProblem(t, d, "proxy.listen", "is taken by admin.listen")
	}
}

func TestAdminTokensOnLoopback(t *testing.T) {
	for listen, needed := range map[string]bool{
		"": false, "127.0.0.1:1": false, "127.9.9.9:1": false, "[::1]:1": false, "localhost:1": false,
		"[::ffff:127.0.0.1]:1": false, ":1": true, "0.0.0.0:1": true, "10.0.0.1:1": true, "gateway:1": true,
	} {
		d := program()
		d.Admin = Admin{Listen: listen}
		if !needed {
			if err := d.Validate(); err != nil {
				t.Errorf("%q: %v", listen, err)
			}
			continue
		}
		wantProblem(t, d, "admin.token_file", "required to listen beyond loopback")
	}
}

// TestRoutesThatAreNoRivals are told apart by what they say, whatever their order.
func TestRoutesThatAreNoRivals(t *testing.T) {
	d := program()
	d.Routes = []Route{
		{Name: "a", Path: "/x"},
		{Name: "b", Path: "/x$"},
		{Name: "c", Path: "/{x}"},
		{Name: "d", Path: "/x", Methods: []string{"GET"}},
		{Name: "e", Path: "/x", Methods: []string{"HEAD"}},
		{Name: "f", Path: "/x", Hosts: []string{"a.example"}},
		{Name: "g", Path: "/x", Hosts: []string{"*.a.example"}, Methods: []string{"GET"}},
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	d.Routes = append(d.Routes, Route{Name: "h", Path: "/x", Hosts: []string{"b.example", "a.example"}})
	wantProblem(t, d, "routes[7].path", `"/x" matches the same requests as routes[5], with the host a.example and every method`)
}

func TestChoiceMayStandWithoutOwnLimits(t *testing.T) {
	d := program()
	d.Routes[0].Checks[0] = Check{Choose: &Choose{By: "header.X-Kind", When: []Case{{Is: "bot", Limits: []string{"bots"}}}}}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}

func TestForwardAuthMakesProxyHeadersKnown(t *testing.T) {
	d := program()
	d.Identity.Key = []string{"{proxy_header.X-User}"}
	wantProblem(t, d, "identity.key[0]", "needs identity.trusted_proxies")
	d.ForwardAuth = &ForwardAuth{}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}

func TestDigest(t *testing.T) {
	dir := t.TempDir()
	text := "admin: {token_file: tokens}\nname: a\n"
	read := func(text, tokens string) [32]byte {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "tokens"), []byte(tokens), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Parse([]byte(text), dir)
		if err != nil {
			t.Fatal(err)
		}
		return d.Digest()
	}
	first := read(text, "a-token-of-an-example")
	if read(text, "a-token-of-an-example") != first {
		t.Error("the same text and file have another digest")
	}
	if read(text, "another-token-of-an-example") == first {
		t.Error("another file has the same digest")
	}
	if read(strings.Replace(text, "name: a", "name: b", 1), "a-token-of-an-example") == first {
		t.Error("another text has the same digest")
	}

	seen := map[[32]byte]string{}
	for name, change := range map[string]func(*Document){
		"nothing":  func(*Document) {},
		"name":     func(d *Document) { d.Name = "x" },
		"file":     func(d *Document) { d.Admin.TokenFile = FileOf([]byte("another-token-for-it")) },
		"url":      func(d *Document) { d.Proxy.Upstreams["web"] = Upstream{URLs: []string{"http://127.0.0.1:9001"}} },
		"upstream": func(d *Document) { d.Proxy.Upstreams["two"] = Upstream{} },
		"duration": func(d *Document) { d.Proxy.IdleWithin = 1 },
		"pointer":  func(d *Document) { d.ForwardAuth = &ForwardAuth{} },
		"number":   func(d *Document) { d.Log.Denied = new(1.0) },
		"flag":     func(d *Document) { d.Answer.Debug = true },
		"limits":   func(d *Document) { d.Routes[0].Checks[0].Limits = []string{"ap", "i"} },
		"network":  func(d *Document) { d.Deny.Networks = []Network{{netip.MustParsePrefix("10.0.0.0/8")}} },
		"empty":    func(d *Document) { d.Deny.Keys = []string{} },
		"neighbor": func(d *Document) { d.Exempt.Networks = []Network{{netip.MustParsePrefix("10.0.0.0/8")}} },
	} {
		d := program()
		change(d)
		sum := d.Digest()
		if other, ok := seen[sum]; ok {
			t.Errorf("a change of %s and one of %s have the same digest", name, other)
		}
		seen[sum] = name
	}
}

func TestReadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	if _, err := Read(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, []byte("name: a\nroutes:\n  - {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(path)
	var fe *limit.FieldError
	if !errors.As(err, &fe) || fe.Line != 3 || fe.Field != "routes[0].name" {
		t.Errorf("%v is not the field error", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], path+":3: routes[0].name: ") || !strings.HasPrefix(lines[1], path+":3: routes[0].path: ") {
		t.Errorf("the error does not name file, line and field:\n%v", err)
	}
}

func TestAliases(t *testing.T) {
	d, err := Parse([]byte("identity: {trusted_proxies: &own [10.0.0.0/8]}\nexempt: {networks: *own}\n"), "")
	if err != nil || !slices.Equal(d.Exempt.Networks, d.Identity.TrustedProxies) || len(d.Exempt.Networks) != 1 {
		t.Errorf("%v, %v", d, err)
	}
	// An alias of what holds it.
	if _, err := Parse([]byte("routes: &a [*a]\n"), ""); err == nil || !strings.Contains(err.Error(), "is a list: write a mapping") {
		t.Errorf("a list that holds itself: %v", err)
	}
	// Five lists that multiply to 10^8 values.
	const times = 100
	repeat := func(s string) string { return "[" + strings.TrimSuffix(strings.Repeat(s+",", times), ",") + "]" }
	bomb := "routes:\n" +
		"  - checks: [{choose: {when: [&case {limits: &names " + repeat("x") + "}, &more {limits: *names}]}}]\n" +
		"  - &route {checks: " + repeat("{choose: {when: "+repeat("*case")+"}}") + "}\n" +
		strings.Repeat("  - *route\n", times)
	_, err = Parse([]byte(bomb), "")
	if err == nil || !strings.Contains(err.Error(), "makes more than 250000 values of the document: use fewer aliases") {
		t.Errorf("a document of aliases: %.300v", err)
	}
}

func TestTooLong(t *testing.T) {
	if _, err := Parse(make([]byte, maxText+1), ""); err == nil || !strings.Contains(err.Error(), "the maximum of") {
		t.Errorf("%.200v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long"), make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse([]byte("admin: {token_file: long}\n"), dir); err == nil || !strings.Contains(err.Error(), "it has more than 1 MiB") {
		t.Errorf("%.200v", err)
	}
}

// TestSecretsStayOutOfErrors validates files that hold the wrong thing, and finds none of it in the errors.
func TestSecretsStayOutOfErrors(t *testing.T) {
	const secret = "hush-hush"
	d := program()
	d.Admin.TokenFile = FileOf([]byte(secret))
	d.Exempt.TokenFile = FileOf([]byte(secret + "\n" + secret))
	pem := FileOf([]byte("-----BEGIN " + secret + "-----\naGVsbG8=\n-----END " + secret + "-----\n"))
	d.Proxy.TLS = &ServerTLS{Cert: pem, Key: pem}
	d.Cluster.TLS = &MutualTLS{Cert: pem, Key: pem, CA: pem}
	d.Identity.JWT = []JWT{
		{SecretFile: FileOf([]byte(secret)), Algorithms: []string{"HS256"}},
		{JWKSFile: FileOf([]byte(`{"keys":[{"kty":"` + secret + `"}]}`)), Algorithms: []string{"RS256"}},
		{JWKSFile: FileOf([]byte(`{"keys":"` + secret + `"}`)), Algorithms: []string{"RS256"}},
	}
	d.Identity.APIKey = &APIKey{SecretFile: FileOf([]byte(secret)), Any: true}
	d.Proxy.Upstreams["web"] = Upstream{URLs: []string{"http://u:" + secret + "@h", "http://u:" + secret + "@h:%zz"}}
	err := d.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	if found := problemsIn(t, err); len(found) < 11 {
		t.Errorf("only %d problems:\n%v", len(found), err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("a secret is in the error:\n%v", err)
	}
}
