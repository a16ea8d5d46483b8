package facts

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A socket is one that is listened at, and a holder which process does.
type (
	socket struct {
		network string
		at      netip.AddrPort
	}
	holder struct {
		pid     int
		program string
	}
)

// in is whether the socket is in the way of a node that listens at a port of these addresses; none stands for all of the machine.
func (s socket) in(network string, addresses []netip.Addr, port int) bool {
	if s.network != network || int(s.at.Port()) != port {
		return false
	}
	return len(addresses) == 0 || s.at.Addr().IsUnspecified() ||
		slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.IsUnspecified() || a == s.at.Addr() })
}

// holderAt is the process in the way of a node that listens at a port of these addresses: running, the node itself, if it is one of several.
func holderAt(holders map[socket]holder, running int, network string, addresses []netip.Addr, port int) (found holder) {
	for s, by := range holders {
		if s.in(network, addresses, port) && (found.pid == 0 || by.pid == running) {
			found = by
		}
	}
	return found
}

// inodes are the sockets that are listened at, by the kernel's numbers of them, of a table in the form of /proc/net/tcp: udp has no state for
// that, so there it is all sockets.
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 0: 0100007F:1E14 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345
func inodes(lines []string, network string, into map[string]socket) {
	const listening, fields = "0A", 10
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < fields || network == "tcp" && f[3] != listening {
			continue
		}
		if at, ok := addressOf(f[1]); ok {
			into[f[9]] = socket{network, at}
		}
	}
}

// addressOf reads an address of these tables: words of four bytes in the order of the machine, and the port.
func addressOf(text string) (netip.AddrPort, bool) {
	words, hexPort, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(words)
	port, portErr := strconv.ParseUint(hexPort, 16, 16)
	if err != nil || portErr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(raw, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), ok
}
