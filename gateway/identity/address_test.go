package identity_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// trusted are the networks of proxies in these tests.
var trusted = []string{"10.0.0.0/8", "2001:db8:ff::/48"}

func TestClientAddress(t *testing.T) {
	long := strings.Repeat("1.1.1.1, ", 40) + "1.1.1.1"
	for name, c := range map[string]struct {
		header string // address_header; empty for the default
		peer   string
		lines  []string // of that header
		want   string
	}{
		"nobody between":              {"", "203.0.113.9", nil, "203.0.113.9"},
		"forged by the client":        {"", "203.0.113.9", []string{"6.6.6.6"}, "203.0.113.9"},
		"one proxy":                   {"", "10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9"},
		"forged left of the proxy":    {"", "10.0.0.1", []string{"6.6.6.6, 203.0.113.9"}, "203.0.113.9"},
		"forged as a trusted one":     {"", "10.0.0.1", []string{"6.6.6.6, 10.0.0.9, 203.0.113.9"}, "203.0.113.9"},
		"two proxies":                 {"", "10.0.0.1", []string{"6.6.6.6, 203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		"two lines":                   {"", "10.0.0.1", []string{"6.6.6.6", "203.0.113.9", "10.0.0.2"}, "203.0.113.9"},
		"no header":                   {"", "10.0.0.1", nil, "10.0.0.1"},
		"all trusted":                 {"", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"empty":                       {"", "10.0.0.1", []string{""}, "10.0.0.1"},
		"garbage":                     {"", "10.0.0.1", []string{"203.0.113.9, unknown, 10.0.0.2"}, "10.0.0.2"},
		"garbage at the end":          {"", "10.0.0.1", []string{"203.0.113.9, "}, "10.0.0.1"},
		"garbage without end":         {"", "10.0.0.1", []string{strings.Repeat("x", 1<<20)}, "10.0.0.1"},
		"a long forged line":          {"", "10.0.0.1", []string{long + ",203.0.113.9"}, "203.0.113.9"},
		"port":                        {"", "10.0.0.1", []string{"203.0.113.9:4711"}, "203.0.113.9"},
		"no port":                     {"", "10.0.0.1", []string{"203.0.113.9:"}, "10.0.0.1"},
		"port of words":               {"", "10.0.0.1", []string{"203.0.113.9:http"}, "10.0.0.1"},
		"IPv6":                        {"", "10.0.0.1", []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 in brackets":            {"", "10.0.0.1", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv6 with a port":            {"", "10.0.0.1", []string{"[2001:db8::7]:80"}, "2001:db8::7"},
		"IPv6, not closed":            {"", "10.0.0.1", []string{"[2001:db8::7"}, "10.0.0.1"},
		"IPv4 in brackets":            {"", "10.0.0.1", []string{"[203.0.113.9]"}, "10.0.0.1"},
		"zone":                        {"", "10.0.0.1", []string{"fe80::1%eth0"}, "fe80::1"},
		"IPv4 in IPv6":                {"", "::ffff:10.0.0.1", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		"IPv6 proxy":                  {"", "2001:db8:ff::1", []string{"203.0.113.9"}, "203.0.113.9"},
		"octets with zeros":           {"", "10.0.0.1", []string{"203.0.113.009"}, "10.0.0.1"},
		"a peer without an address":   {"", "", []string{"203.0.113.9"}, "invalid IP"},
		"Forwarded":                   {"Forwarded", "10.0.0.1", []string{"for=203.0.113.9"}, "203.0.113.9"},
		"Forwarded with all":          {"forwarded", "10.0.0.1", []string{`by=10.0.0.1;FOR="203.0.113.9:80";proto=https;host=a`}, "203.0.113.9"},
		"Forwarded, IPv6":             {"Forwarded", "10.0.0.1", []string{`for="[2001:db8::7]:4711"`}, "2001:db8::7"},
		"Forwarded, IPv6 not quoted":  {"Forwarded", "10.0.0.1", []string{`for=[2001:db8::7]:4711`}, "2001:db8::7"},
		"Forwarded, hidden port":      {"Forwarded", "10.0.0.1", []string{`for="203.0.113.9:_xy"`}, "203.0.113.9"},
		"Forwarded, escaped":          {"Forwarded", "10.0.0.1", []string{`for="20\3.0.113.9"`}, "203.0.113.9"},
		"Forwarded, chain":            {"Forwarded", "10.0.0.1", []string{"for=6.6.6.6, for=203.0.113.9", "for=10.0.0.2"}, "203.0.113.9"},
		"Forwarded, unknown":          {"Forwarded", "10.0.0.1", []string{"for=203.0.113.9, for=unknown, for=10.0.0.2"}, "10.0.0.2"},
		"Forwarded, hidden":           {"Forwarded", "10.0.0.1", []string{"for=203.0.113.9, for=_gazonk"}, "10.0.0.1"},
		"Forwarded without for":       {"Forwarded", "10.0.0.1", []string{"for=203.0.113.9, proto=https"}, "10.0.0.1"},
		"Forwarded, for twice":        {"Forwarded", "10.0.0.1", []string{"for=203.0.113.9;for=203.0.113.8"}, "10.0.0.1"},
		"Forwarded, a quote is open":  {"Forwarded", "10.0.0.1", []string{`for=", for=203.0.113.9`}, "203.0.113.9"},
		"Forwarded, all in quotes":    {"Forwarded", "10.0.0.1", []string{`for="6.6.6.6, for=203.0.113.9"`}, "10.0.0.1"},
		"Forwarded, comma in quotes":  {"Forwarded", "10.0.0.1", []string{`for=203.0.113.9;host="a,b\",c"`}, "203.0.113.9"},
		"Forwarded, forged as listed": {"Forwarded", "203.0.113.9", []string{"for=10.0.0.1"}, "203.0.113.9"},
		"Forwarded, semicolon last":   {"Forwarded", "10.0.0.1", []string{`for=203.0.113.9;`}, "203.0.113.9"},
		"Forwarded, no value":         {"Forwarded", "10.0.0.1", []string{`for=`}, "10.0.0.1"},
		"Forwarded, after the quote":  {"Forwarded", "10.0.0.1", []string{`for="203.0.113.9"x`}, "10.0.0.1"},
		"one address":                 {"CF-Connecting-IP", "10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9"},
		"one address, forged":         {"CF-Connecting-IP", "203.0.113.9", []string{"6.6.6.6"}, "203.0.113.9"},
		"one address, two of them":    {"CF-Connecting-IP", "10.0.0.1", []string{"6.6.6.6", "203.0.113.9"}, "10.0.0.1"},
		"one address, the same twice": {"CF-Connecting-IP", "10.0.0.1", []string{"203.0.113.9", "203.0.113.9"}, "203.0.113.9"},
		"one address, a list":         {"CF-Connecting-IP", "10.0.0.1", []string{"6.6.6.6, 203.0.113.9"}, "10.0.0.1"},
		"one address, none":           {"CF-Connecting-IP", "10.0.0.1", nil, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, config.Identity{TrustedProxies: networks(t, trusted...), AddressHeader: c.header})
			r := from(c.peer)
			header := c.header
			if header == "" {
				header = "X-Forwarded-For"
			}
			r.Header[http.CanonicalHeaderKey(header)] = c.lines
			facts := f.Facts(r)
			if got := facts.Client().String(); got != c.want {
				t.Errorf("the client is %s, want %s", got, c.want)
			}
		})
	}
}

// A hop is what stands at one place of a header, and what it means.
type hop struct {
	text string
	addr netip.Addr // the zero Addr for what is no address
}

// model is the slow and obvious way to find the client: take all hops, the peer last, and go back as long as they are
// trusted.
func model(peer netip.Addr, hops []hop) netip.Addr {
	chain := append(append([]hop{}, hops...), hop{addr: peer})
	isTrusted := func(a netip.Addr) bool {
		return strings.HasPrefix(a.String(), "10.") || strings.HasPrefix(a.String(), "2001:db8:ff:")
	}
	client := peer
	for _, h := range slices.Backward(chain) {
		if !h.addr.IsValid() {
			break
		}
		if client = h.addr; !isTrusted(client) {
			break
		}
	}
	return client
}

var addresses = []string{"10.0.0.1", "10.200.3.4", "203.0.113.9", "2001:db8::7", "2001:db8:ff::1", "2001:db8:ff:1::9", "9.255.255.255"}

// drawHop draws a hop as X-Forwarded-For or Forwarded has it.
func drawHop(t *rapid.T, forwarded bool) hop {
	if rapid.IntRange(0, 5).Draw(t, "garbage") == 0 {
		bad := []string{"", "unknown", "_hidden", "10.0.0.1x", "10.0.0", "[10.0.0.1]", "10.0.0.1:x", "::g"}
		if forwarded {
			bad = []string{
				"", "for=unknown", "for=_hidden", "10.0.0.1", "for", "for=10.0.0.1;for=10.0.0.1", "proto=https", `for="10.0.0.1" x`,
				`for="10.0.0.1;"`, "for=10.0.0.1;=", `for="10.0.0.1,"`,
			}
		}
		return hop{text: rapid.SampledFrom(bad).Draw(t, "bad")}
	}
	a := netip.MustParseAddr(rapid.SampledFrom(addresses).Draw(t, "address"))
	text := a.String()
	port := rapid.Bool().Draw(t, "port")
	if a.Is6() && (port || forwarded || rapid.Bool().Draw(t, "brackets")) {
		text = "[" + text + "]"
	}
	if port {
		text += ":4711"
	}
	if !forwarded {
		return hop{text, a}
	}
	if a.Is6() || port || rapid.Bool().Draw(t, "quoted") {
		text = `"` + text + `"`
	}
	form := rapid.SampledFrom([]string{"for=%s", "For=%s;proto=https", `by="_x";FOR=%s`, `host="a,b";for=%s;ext="\",for=6.6.6.6"`}).Draw(t, "form")
	return hop{fmt.Sprintf(form, text), a}
}

func TestClientAgreesWithModel(t *testing.T) {
	proxies := networks(t, trusted...)
	finders := map[bool]*identity.Finder{
		false: finder(t, config.Identity{TrustedProxies: proxies}),
		true:  finder(t, config.Identity{TrustedProxies: proxies, AddressHeader: "Forwarded"}),
	}
	rapid.Check(t, func(t *rapid.T) {
		forwarded := rapid.Bool().Draw(t, "forwarded")
		var hops []hop
		for range rapid.IntRange(0, 6).Draw(t, "hops") {
			hops = append(hops, drawHop(t, forwarded))
		}
		var lines []string
		for i, h := range hops {
			if i == 0 || rapid.Bool().Draw(t, "line") {
				lines = append(lines, h.text)
			} else {
				lines[len(lines)-1] += rapid.SampledFrom([]string{",", ", ", " ,\t"}).Draw(t, "comma") + h.text
			}
		}
		peer := rapid.SampledFrom(addresses).Draw(t, "peer")
		r := from(peer)
		r.Header["X-Forwarded-For"] = lines
		r.Header["Forwarded"] = lines
		facts := finders[forwarded].Facts(r)
		if got, want := facts.Client(), model(r.Peer, hops); got != want {
			t.Fatalf("the client of %q behind %s is %s, want %s", lines, peer, got, want)
		}
	})
}

func TestAddressesInKeys(t *testing.T) {
	for name, c := range map[string]struct {
		prefix int
		peer   string
		want   string
	}{
		"IPv4":            {0, "203.0.113.9", "ip:203.0.113.9"},
		"IPv4 in IPv6":    {0, "::ffff:203.0.113.9", "ip:203.0.113.9"},
		"IPv6":            {0, "2001:db8::7", "ip:2001:db8::/64"},
		"IPv6 with zone":  {0, "fe80::1%eth0", "ip:fe80::/64"},
		"IPv6, 56 bits":   {56, "2001:db8:1:2ff::7", "ip:2001:db8:1:200::/56"},
		"IPv6, whole":     {128, "2001:db8::7", "ip:2001:db8::7/128"},
		"without address": {0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, config.Identity{IPv6Prefix: c.prefix})
			if got := keyOf(f, compile(t, f, "ip:{ip}"), from(c.peer)); got != c.want {
				t.Errorf("the key is %q, want %q", got, c.want)
			}
		})
	}
}

// Somebody with a /64 has 2^64 addresses, and is one client all the same.
func TestRotatedAddressesAreOneClient(t *testing.T) {
	f := finder(t, config.Identity{})
	templates := compile(t, f, "ip:{ip}")
	network := netip.MustParsePrefix("2001:db8:5:6::/64")
	rapid.Check(t, func(t *rapid.T) {
		a := network.Addr().As16()
		copy(a[8:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "interface"))
		if got := keyOf(f, templates, &identity.Request{Peer: netip.AddrFrom16(a)}); got != "ip:2001:db8:5:6::/64" {
			t.Fatalf("the key of %s is %q", netip.AddrFrom16(a), got)
		}
		a[rapid.IntRange(0, 7).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		if got := keyOf(f, templates, &identity.Request{Peer: netip.AddrFrom16(a)}); got == "ip:2001:db8:5:6::/64" {
			t.Fatalf("%s outside the network has its key", netip.AddrFrom16(a))
		}
	})
}

func TestNetworks(t *testing.T) {
	n := identity.NewNetworks(append(networks(t, "10.0.0.0/8", "2001:db8::/32", "192.0.2.7"),
		config.Network{Prefix: netip.MustParsePrefix("::ffff:172.16.0.0/108")}, config.Network{}))
	for address, want := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "11.0.0.0": false, "2001:db8::1": true, "2001:db8::1%eth0": true,
		"2001:db9::": false, "192.0.2.7": true, "192.0.2.8": false, "172.31.255.255": true, "172.32.0.0": false,
	} {
		if got := n.Contains(netip.MustParseAddr(address)); got != want {
			t.Errorf("Contains(%s) = %t, want %t", address, got, want)
		}
	}
	if n.Contains(netip.Addr{}) || identity.NewNetworks(nil).Contains(netip.MustParseAddr("10.0.0.1")) {
		t.Error("no address, or no network, is contained")
	}
}

// However many hops a request claims, the last ones alone are looked at.
func TestClaimedHopsAreBounded(t *testing.T) {
	f := finder(t, config.Identity{TrustedProxies: networks(t, trusted...)})
	r := from("10.0.0.1")
	for range 100 {
		r.Header.Add("X-Forwarded-For", "203.0.113.9"+strings.Repeat(", 10.0.0.2", 1000))
	}
	facts := f.Facts(r)
	if got := facts.Client().String(); got != "10.0.0.2" {
		t.Errorf("the client is %s, want the last proxy that was looked at", got)
	}
}

func FuzzClientAddress(f *testing.F) {
	f.Add("203.0.113.9, 10.0.0.2", `for="[2001:db8::7]:80";by=_a, for=unknown`)
	f.Add("::ffff:10.0.0.1%x,,", `for="a\"b,c" , FOR=1.2.3.4`)
	f.Add("[::1]:65536", `for=";"for=`)
	proxies := networks(f, trusted...)
	list := finder(f, config.Identity{TrustedProxies: proxies})
	elements := finder(f, config.Identity{TrustedProxies: proxies, AddressHeader: "Forwarded"})
	one := finder(f, config.Identity{TrustedProxies: proxies, AddressHeader: "X-Real-IP"})
	f.Fuzz(func(t *testing.T, xff, forwarded string) {
		// Whatever stands there, a proxy adds the real client at the right, and that one counts.
		for _, end := range []string{"", "203.0.113.9"} {
			r := from("10.0.0.1")
			r.Header["X-Forwarded-For"] = []string{xff}
			r.Header["Forwarded"] = []string{forwarded}
			r.Header["X-Real-Ip"] = []string{xff}
			if end != "" {
				r.Header["X-Forwarded-For"][0] += ", " + end
				r.Header["Forwarded"][0] += ", for=" + end
				r.Header["X-Real-Ip"][0] = end
			}
			for _, finder := range []*identity.Finder{list, elements, one} {
				facts := finder.Facts(r)
				client := facts.Client()
				if !client.IsValid() || client.Zone() != "" || client.Is4In6() {
					t.Fatalf("the client is %s", client)
				}
				if end != "" && client.String() != end {
					t.Fatalf("%q and %q hide the client: it is %s", xff, forwarded, client)
				}
			}
		}
	})
}
