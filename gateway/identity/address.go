package identity

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// maxHops bounds how many addresses of a request are read.
const maxHops = 64

// addresses find the client's address. They never change.
type addresses struct {
	trusted *Networks
	header  string // canonical name
	cut     cutter // takes the last hop off a line of the header
	alone   bool   // the header holds one address
	prefix  int    // bits of an IPv6 address that tell clients apart
}

// A cutter takes the last hop off a line. rest is the line before it, more is whether there is one; ok is false when the
// last hop is no address.
type cutter func(line string) (hop netip.Addr, rest string, more, ok bool)

func newAddresses(id config.Identity) (addresses, error) {
	a := addresses{trusted: NewNetworks(id.TrustedProxies), prefix: id.IPv6Bits(), cut: cutList}
	if a.prefix < 1 || a.prefix > 128 {
		return a, &limit.FieldError{
			Field: "identity.ipv6_prefix", Problem: fmt.Sprintf("%d is not a prefix length: use 1 to 128, such as 64", id.IPv6Prefix),
		}
	}
	if !isToken(id.Header()) {
		return a, &limit.FieldError{
			Field: "identity.address_header", Problem: fmt.Sprintf("%q is not a header name: use X-Forwarded-For, for example", id.AddressHeader),
		}
	}
	a.header = http.CanonicalHeaderKey(id.Header())
	switch a.header {
	case "X-Forwarded-For":
	case "Forwarded":
		a.cut = cutForwarded
	default:
		a.alone = true
	}
	return a, nil
}

// client is the client's address. It starts with the peer's, which a client cannot forge, since it is that of the connection. While
// the address is that of a trusted proxy, client goes on to the one that the proxy has put into the header: from right to left,
// since every proxy appends at the right. The first address that is not a trusted proxy's is the client's; the client itself may
// have written everything left of it. If an entry is not an address, the one before it counts.
//
//	X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.0.0.2     peer 10.0.0.1     trusted 10.0.0.0/8
//	                 forged   ← the client   ← trusted       ← trusted
func (a *addresses) client(peer netip.Addr, h http.Header) netip.Addr {
	believed := plain(peer)
	if !a.trusted.Contains(believed) {
		return believed
	}
	lines := h[a.header]
	if a.alone {
		return single(lines, believed)
	}
	hops := 0
	for _, line := range slices.Backward(lines) {
		for more := true; more; {
			if hops++; hops > maxHops {
				return believed
			}
			var hop netip.Addr
			var ok bool
			if hop, line, more, ok = a.cut(line); !ok {
				return believed
			}
			if believed = hop; !a.trusted.Contains(hop) {
				return believed
			}
		}
	}
	return believed
}

// single is the address in a header that holds one. When it came several times with different values, none counts.
func single(lines []string, otherwise netip.Addr) netip.Addr {
	if len(lines) == 0 {
		return otherwise
	}
	for _, other := range lines[1:] {
		if other != lines[0] {
			return otherwise
		}
	}
	if a, ok := parseNode(trim(lines[0])); ok {
		return a
	}
	return otherwise
}

// cutList cuts a line of X-Forwarded-For at its last comma.
func cutList(line string) (hop netip.Addr, rest string, more, ok bool) {
	from := max(0, len(line)-maxHop)
	comma := strings.LastIndexByte(line[from:], ',')
	if comma < 0 && from > 0 {
		return netip.Addr{}, "", false, false
	}
	hop, ok = parseNode(trim(line[from+comma+1:]))
	if comma < 0 {
		return hop, "", false, ok
	}
	return hop, line[:from+comma], true, ok
}

// appendIP writes the value of {ip}: 192.0.2.1, or 2001:db8::/64.
func (a *addresses) appendIP(dst []byte, client netip.Addr) []byte {
	if client.Is4() {
		return client.AppendTo(dst)
	}
	return netip.PrefixFrom(client, a.prefix).Masked().AppendTo(dst)
}
