package facts

import (
	"strconv"
	"strings"
)

// A portKey is a port that is listened at, and a holder which process does.
type (
	portKey struct {
		network string
		port    int
	}
	holder struct {
		pid     int
		program string
	}
)

// inodes are the sockets that are listened at, by the kernel's numbers of them, of a table in the form of /proc/net/tcp: udp has no state for
// that, so there it is all sockets.
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 0: 0100007F:1E14 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345
func inodes(lines []string, network string, into map[string]portKey) {
	const listening, fields = "0A", 10
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < fields || network == "tcp" && f[3] != listening {
			continue
		}
		at := f[1]
		if len(at) < 5 || at[len(at)-5] != ':' {
			continue
		}
		if port, err := strconv.ParseUint(at[len(at)-4:], 16, 16); err == nil {
			into[f[9]] = portKey{network, int(port)}
		}
	}
}
