package config

import (
	"encoding"
	"fmt"
	"net/netip"
	"time"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A Duration is written 50ms, 1m30s.
type Duration time.Duration

// Form implements [strictyaml.Former].
func (*Duration) Form() string { return "a duration with its unit, such as 2s or 500ms" }

// UnmarshalText reads the form of [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.64q is not a duration: write a number and its unit, such as 50ms, 5s or 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText is what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the form of [time.Duration.String].
func (d Duration) String() string { return time.Duration(d).String() }

// Or is d, or another duration if d is 0.
func (d Duration) Or(other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return time.Duration(d)
}

// A Network is an address range, written 10.0.0.0/8, or one address. IPv4 within IPv6 is taken for IPv4.
type Network struct{ netip.Prefix }

// ParseNetwork reads a prefix or an address. No bit of the address may be set after the prefix.
func ParseNetwork(text string) (Network, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return Network{}, fmt.Errorf("%.64q is not a network: write a prefix or an address, such as 10.0.0.0/8 or 2001:db8::1", text)
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	if p.Addr().Is4In6() && p.Bits() >= ipv4InIPv6 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-ipv4InIPv6)
	}
	n := Network{p}
	if problem := n.problem(); problem != "" {
		return Network{}, fmt.Errorf("%.64q %s", text, problem)
	}
	return n, nil
}

// ipv4InIPv6 is the length of ::ffff:0:0/96.
const ipv4InIPv6 = 96

// problem is what is wrong with n; empty for nothing.
func (n Network) problem() string {
	switch masked := n.Masked(); {
	case !n.IsValid():
		return "is not a network: it is the zero value"
	case n.Addr().Is4In6():
		return fmt.Sprintf("is of IPv4 within IPv6: write the prefix of IPv4, or at least /%d", ipv4InIPv6)
	case masked != n.Prefix:
		return fmt.Sprintf("has bits set after its prefix: write %s", masked)
	}
	return ""
}

// UnmarshalText reads what [ParseNetwork] does.
func (n *Network) UnmarshalText(text []byte) error {
	parsed, err := ParseNetwork(string(text))
	if err != nil {
		return err
	}
	*n = parsed
	return nil
}

// The forms of the headers that tell clients their limits: the values of [Answer.Headers].
const (
	FormRateLimit   = "ratelimit"    // draft-ietf-httpapi-ratelimit-headers-11
	FormRateLimit03 = "ratelimit-03" // its older three fields
	FormXRateLimit  = "x-ratelimit"
	FormOpenAI      = "openai"    // as the OpenAI API has them, for routes with llm
	FormAnthropic   = "anthropic" // as the Anthropic API has them, likewise
	FormNone        = "none"      // none but Retry-After; stands alone
)

// HeaderForms are all forms but FormNone.
func HeaderForms() []string {
	return []string{FormRateLimit, FormRateLimit03, FormXRateLimit, FormOpenAI, FormAnthropic}
}

var (
	_ encoding.TextUnmarshaler = (*Duration)(nil)
	_ encoding.TextUnmarshaler = (*Network)(nil)
	_ strictyaml.Former        = (*Duration)(nil)
)
