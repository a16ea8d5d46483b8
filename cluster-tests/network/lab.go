package network

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A Lab is a network of hosts. It is safe for concurrent use; its methods, except those of what Dial returns, end the test
// where something goes wrong, and so belong into the test's goroutine.
type Lab struct {
	t           *testing.T
	ip, nsenter string // paths of programs

	mu    sync.Mutex
	hosts map[string]*host
	names []string // of the hosts, in the order in which they were made
	cuts  map[cut]bool
	late  *late // nil: every packet is on time
}

// A host is a namespace with a cable to the router.
type host struct {
	space   *space
	address string
	port    string // of the router, to which its cable leads
	router  string // the address of that end
}

// mostHosts is how many numbers an address has for them.
const mostHosts = 250

// A cut is what the router drops: all packets from one address to another, or only those of TCP.
type cut struct {
	from, to string
	tcp      bool
}

// rule is the cut as ip writes it.
func (c cut) rule() string {
	r := "priority 100 from " + c.from + " to " + c.to
	if c.tcp {
		r += " ipproto tcp"
	}
	return r + " blackhole"
}

// batch runs commands of ip in the router's namespace.
func (l *Lab) batch(lines ...string) error {
	return l.run(exec.Command(l.ip, "-batch", "-"), lines) //nolint:noctx // it does not wait for anything
}

func (l *Lab) run(cmd *exec.Cmd, lines []string) error {
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(lines, "\n")+"\n"), &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ip: %s: %w: %s", strings.Join(lines, "; "), err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// Host is the IP address of a host.
func (l *Lab) Host(name string) string {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hostLocked(name).address
}

// Router is the IP address at which a host reaches the test.
func (l *Lab) Router(name string) string {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hostLocked(name).router
}

// hostLocked is a host, which is made unless it is there.
func (l *Lab) hostLocked(name string) *host {
	l.t.Helper()
	if h := l.hosts[name]; h != nil {
		return h
	}
	h, err := l.plug(len(l.hosts) + 1)
	if err != nil {
		l.t.Fatalf("host %s: %v", name, err)
	}
	l.hosts[name] = h
	l.names = append(l.names, name)
	return h
}

// plug makes the n-th host.
func (l *Lab) plug(n int) (*host, error) {
	if n > mostHosts {
		return nil, fmt.Errorf("there are %d hosts already", mostHosts)
	}
	s, err := newSpace()
	if err != nil {
		return nil, err
	}
	h := &host{space: s, address: fmt.Sprintf("10.77.%d.1", n), port: "host" + strconv.Itoa(n), router: fmt.Sprintf("10.77.%d.254", n)}
	err = l.batch(
		fmt.Sprintf("link add %s type veth peer name eth0 netns %d", h.port, s.thread),
		fmt.Sprintf("addr add %s/24 dev %s", h.router, h.port),
		fmt.Sprintf("link set %s up", h.port),
	)
	if err == nil {
		err = l.run(h.command(l, l.ip, "-batch", "-"), []string{
			"link set lo up",
			"addr add " + h.address + "/24 dev eth0",
			"link set eth0 up",
			"route add default via " + h.router,
		})
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return h, nil
}

// command is a command that runs at the host.
func (h *host) command(l *Lab, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...) //nolint:noctx // the caller that starts it says when it ends
	h.enter(l, cmd)
	return cmd
}

// enter makes a command run at the host. nsenter becomes the program itself: no process stands between.
func (h *host) enter(l *Lab, cmd *exec.Cmd) {
	space := fmt.Sprintf("--net=/proc/%d/task/%d/ns/net", os.Getpid(), h.space.thread)
	cmd.Args = append([]string{"nsenter", space, "--", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = l.nsenter
}

// Enter makes a command, which has not been started yet, run at a host. It stays the process that was started: signals and
// exit code are the program's.
func (l *Lab) Enter(name string, cmd *exec.Cmd) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hostLocked(name).enter(l, cmd)
}

// Dial is how a caller at a host connects to a TCP address, which is an IP address and a port. It takes as long as ctx lets
// it where the connection is cut.
func (l *Lab) Dial(name string) func(ctx context.Context, address string) (net.Conn, error) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hostLocked(name).space.dial
}
