package config

import (
	"encoding"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// A Duration is written 50ms, 1m30s.
type Duration time.Duration

// UnmarshalText reads the form of [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.64q is no duration: write a number and its unit, such as 50ms, 5s or 1m30s", text)
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
			return Network{}, fmt.Errorf("%.64q is no network: write a prefix or an address, such as 10.0.0.0/8 or 2001:db8::1", text)
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
		return "is no network: it is the zero value"
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

// A File is a path in the document whose content is read with it, so that document and files change together. However it
// is printed, it shows no more than the path.
type File struct {
	Path    string
	content *sealed // nil when the file has not been read
	exposed string  // why it is no place for a secret; empty when it is one, or is not on disk
}

// sealed is the content of a file. Two pointers lead to it because fmt asks no methods of what is in an unexported field,
// and follows one pointer there when the verb is wrong, as in %s.
type sealed struct{ bytes *[]byte }

// FileOf is a file that is not on disk, for documents made by programs.
func FileOf(content []byte) File { return File{Path: "(inline)", content: &sealed{&content}} }

// Given says whether the document names a file.
func (f File) Given() bool { return f.Path != "" }

// Bytes is what the file held when it was read; nil when it has not been. It must not be changed.
func (f File) Bytes() []byte {
	if f.content == nil {
		return nil
	}
	return *f.content.bytes
}

// UnmarshalText reads the path.
func (f *File) UnmarshalText(text []byte) error {
	*f = File{Path: string(text)}
	return nil
}

// MarshalText is the path.
func (f File) MarshalText() ([]byte, error) { return []byte(f.Path), nil }

// String is the path.
func (f File) String() string { return f.Path }

// GoString is the path as Go writes it.
func (f File) GoString() string { return fmt.Sprintf("config.File{Path: %q}", f.Path) }

// Format writes the path, whatever the verb.
func (f File) Format(s fmt.State, verb rune) {
	text := f.String()
	switch {
	case verb == 'v' && s.Flag('#'):
		text = f.GoString()
	case verb == 'q':
		text = fmt.Sprintf("%q", f.Path)
	}
	_, _ = io.WriteString(s, text)
}

var (
	_ encoding.TextUnmarshaler = (*Duration)(nil)
	_ encoding.TextUnmarshaler = (*Network)(nil)
	_ encoding.TextUnmarshaler = (*File)(nil)
	_ fmt.Formatter            = File{}
)
