package clustertests

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/miekg/dns"
)

// A nameServer serves DNS in a laboratory, in place of the machine's: a name has an address at once, and is unknown as soon as it has none.
type nameServer struct {
	mu        sync.Mutex
	addresses map[string]net.IP // by names as DNS writes them
}

// serveNames serves DNS at an address of the test, and has all processes in its laboratory ask there.
func serveNames(t *testing.T, at string) *nameServer {
	t.Helper()
	n := &nameServer{addresses: map[string]net.IP{}}
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", net.JoinHostPort(at, "53"))
	if err != nil {
		t.Fatal("DNS: ", err)
	}
	server := &dns.Server{PacketConn: conn, Handler: n}
	served := make(chan error, 1)
	go func() { served <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error("DNS: ", err)
		}
		if err := <-served; err != nil {
			t.Error("DNS: ", err)
		}
	})
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("nameserver "+at+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const resolver = "/etc/resolv.conf"
	if err := syscall.Mount(file, resolver, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal("names of pods: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(resolver, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return n
}

// set gives a name its address; an empty one takes the name away.
func (n *nameServer) set(name, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses[dns.Fqdn(name)] = net.ParseIP(address)
}

// ServeDNS implements dns.Handler.
func (n *nameServer) ServeDNS(w dns.ResponseWriter, asked *dns.Msg) {
	answer := new(dns.Msg).SetReply(asked)
	for _, q := range asked.Question {
		n.mu.Lock()
		address := n.addresses[q.Name]
		n.mu.Unlock()
		switch {
		case address == nil:
			answer.SetRcode(asked, dns.RcodeNameError)
		case q.Qtype == dns.TypeA:
			answer.Answer = append(answer.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: address})
		}
	}
	_ = w.WriteMsg(answer) // who asks may have gone
}
