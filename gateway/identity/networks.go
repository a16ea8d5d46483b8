package identity

import (
	"net/netip"

	"github.com/gaissmai/bart"

	"github.com/jeton-dev/jeton/gateway/config"
)

// Networks answer whether an address is in any of some networks, in the same time however many they are. They never
// change.
type Networks struct {
	table bart.Lite
	some  bool
}

// NewNetworks makes Networks. Those of IPv4 written as IPv6 (::ffff:10.0.0.0/104) are networks of IPv4; networks that are
// not valid are left out.
func NewNetworks(networks []config.Network) *Networks {
	n := &Networks{}
	for _, network := range networks {
		p := network.Prefix
		if !p.IsValid() {
			continue
		}
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		n.table.Insert(p.Masked())
		n.some = true
	}
	return n
}

// Contains says whether a is in any of the networks. IPv4 within IPv6 is taken for IPv4, and a zone does not count; the zero
// Addr is in none.
func (n *Networks) Contains(a netip.Addr) bool {
	return n.some && a.IsValid() && n.table.Contains(plain(a))
}

// plain is a without the forms that one address can have: IPv4 within IPv6 unwrapped, the zone dropped.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
