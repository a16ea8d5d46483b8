package process

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// lowest and highest are the ports that FreePorts hands out, below those that the system hands out by itself.
const lowest, highest = 10_000, 32_000

// handed is how many ports were handed out, from a random one on: a node that is down keeps its ports.
var handed = struct {
	sync.Mutex

	from, n int
}{from: rand.IntN(highest - lowest)}

// FreePorts finds n ports in a row on which no process listens, and which no other test of this process is given.
func FreePorts(t *testing.T, n int) (first int) {
	t.Helper()
	handed.Lock()
	defer handed.Unlock()
	for handed.n+n < highest-lowest {
		first := lowest + (handed.from+handed.n)%(highest-lowest)
		handed.n++
		if first+n < highest && free(first, n) {
			handed.n += n - 1
			return first
		}
	}
	t.Fatal("there are no free ports left")
	return 0
}

func free(first, n int) bool {
	for port := first; port < first+n; port++ {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", address) //nolint:noctx // it does not wait
		if err != nil {
			return false
		}
		l.Close()                                  //nolint:errcheck // nothing was written
		p, err := net.ListenPacket("udp", address) //nolint:noctx // it does not wait
		if err != nil {
			return false
		}
		p.Close() //nolint:errcheck // nothing was written
	}
	return true
}
