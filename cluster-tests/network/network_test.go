package network_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/cluster-tests/network"
)

// echo is the variable by which this binary knows that it is to be an echoer.
const echo = "NETWORK_TEST_ECHO"

func TestMain(m *testing.M) {
	if address := os.Getenv(echo); address != "" {
		if err := echoer(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// port is where echoers listen.
const port = "7"

// echoer answers every line over TCP, and every datagram, with itself, but for lines that begin with "udp ": they say
// whether a datagram to that address is answered.
func echoer(address string) error {
	datagrams, err := net.ListenPacket("udp", address) //nolint:noctx // it does not wait
	if err != nil {
		return err
	}
	go func() {
		for buffer := make([]byte, 100); ; {
			n, from, err := datagrams.ReadFrom(buffer)
			if err != nil {
				return
			}
			datagrams.WriteTo(buffer[:n], from) //nolint:errcheck // may be lost, as datagrams are
		}
	}()
	l, err := net.Listen("tcp", address) //nolint:noctx // it does not wait
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close() //nolint:errcheck // nothing is lost
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				answer := lines.Text()
				if to, ok := strings.CutPrefix(answer, "udp "); ok {
					answer = datagram(to)
				}
				fmt.Fprintln(conn, answer)
			}
		}()
	}
}

// datagram says whether a datagram to an address is answered: "answered", or "lost" after it was sent a few times.
func datagram(to string) string {
	conn, err := net.Dial("udp", to) //nolint:noctx // it does not wait
	if err != nil {
		return err.Error()
	}
	defer conn.Close() //nolint:errcheck // nothing is lost
	for range 5 {
		conn.Write([]byte("x"))                                     //nolint:errcheck // the answer is what counts
		conn.SetReadDeadline(time.Now().Add(60 * time.Millisecond)) //nolint:errcheck // it is open
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			return "answered"
		}
	}
	return "lost"
}

// A rig is a network with echoers.
type rig struct {
	*testing.T

	lab *network.Lab
}

// in runs f in a network with echoers at some hosts.
func in(t *testing.T, hosts []string, f func(rig)) {
	t.Helper()
	network.Run(t, func(lab *network.Lab) {
		for _, name := range hosts {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), echo+"="+net.JoinHostPort(lab.Host(name), port))
			lab.Enter(name, cmd)
			said, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				cmd.Process.Kill() //nolint:errcheck // it may have ended
				cmd.Wait()         //nolint:errcheck // killed
			})
			if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
				t.Fatalf("the echoer at %s said %q, %v", name, line, err)
			}
		}
		f(rig{t, lab})
	})
}

// short is how long to wait for what should not come, long for what should.
const short, long = 300 * time.Millisecond, 30 * time.Second

// connect connects a host to another one's echoer.
func (r rig) connect(from, to string, within time.Duration) (net.Conn, error) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	return r.lab.Dial(from)(ctx, net.JoinHostPort(r.lab.Host(to), port))
}

// must connects.
func (r rig) must(from, to string) net.Conn {
	r.Helper()
	conn, err := r.connect(from, to, long)
	if err != nil {
		r.Fatalf("%s to %s: %v", from, to, err)
	}
	r.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing is lost
	return conn
}

// mustNot tries to connect, in vain and in silence.
func (r rig) mustNot(from, to string) {
	r.Helper()
	conn, err := r.connect(from, to, short)
	if err == nil {
		conn.Close() //nolint:errcheck // it should not be there
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("%s to %s: %v, want that nothing comes back", from, to, err)
	}
}

// echoes sends a line over a connection and says whether it comes back in time.
func (r rig) echoes(conn net.Conn, line string, within time.Duration) bool {
	r.Helper()
	if line != "" {
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			r.Fatal(err)
		}
	}
	conn.SetReadDeadline(time.Now().Add(within)) //nolint:errcheck // Read says
	_, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		r.Fatal(err)
	}
	return err == nil
}

// datagram says whether datagrams from one host are answered by another.
func (r rig) datagram(from, to string) string {
	r.Helper()
	var dialer net.Dialer // from the router, which is never cut off
	conn, err := dialer.DialContext(r.Context(), "tcp", net.JoinHostPort(r.lab.Host(from), port))
	if err != nil {
		r.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is lost
	fmt.Fprintln(conn, "udp "+net.JoinHostPort(r.lab.Host(to), port))
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		r.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

func TestCut(t *testing.T) {
	t.Parallel()
	in(t, []string{"a", "b", "c"}, func(r rig) {
		old := r.must("a", "b")
		if !r.echoes(old, "before", long) {
			t.Fatal("nothing comes back before the cut")
		}
		r.lab.Cut("a", "b")
		if r.echoes(old, "meanwhile", short) {
			t.Error("a connection that is cut off still carries lines")
		}
		r.mustNot("a", "b")
		r.mustNot("b", "a")
		if got := r.datagram("b", "a"); got != "lost" {
			t.Errorf("a datagram over the cut is %s", got)
		}
		r.must("a", "c")
		r.must("c", "b")
		r.lab.Mend("b", "a")
		if !r.echoes(old, "", long) {
			t.Error("what was sent meanwhile never comes back")
		}
		r.must("b", "a")
	})
}

func TestCutOneWay(t *testing.T) {
	t.Parallel()
	in(t, []string{"a", "b"}, func(r rig) {
		old := r.must("b", "a")
		r.lab.CutOneWay("a", "b")
		if r.echoes(old, "x", short) {
			t.Error("an answer crosses the cut")
		}
		r.mustNot("a", "b")
		r.mustNot("b", "a") // the answer to it is dropped
		r.lab.Heal()
		if !r.echoes(old, "", long) {
			t.Error("the answer never comes")
		}
	})
}

func TestCutTCP(t *testing.T) {
	t.Parallel()
	in(t, []string{"a", "b"}, func(r rig) {
		r.lab.CutTCP("a", "b")
		r.mustNot("a", "b")
		r.mustNot("b", "a")
		for range 20 { // one may be lost on a busy machine
			if r.datagram("a", "b") == "answered" {
				r.lab.Mend("a", "b")
				r.must("a", "b")
				return
			}
		}
		t.Error("datagrams do not arrive over a cut of TCP alone")
	})
}

func TestIsolate(t *testing.T) {
	t.Parallel()
	in(t, []string{"a", "b", "c", "d"}, func(r rig) {
		r.lab.Isolate("a", "d")
		r.mustNot("a", "b")
		r.mustNot("c", "a")
		r.must("a", "d")
		r.must("b", "c")
		r.lab.Heal()
		r.lab.Split([]string{"a", "b"}, []string{"c"})
		r.mustNot("b", "c")
		r.must("a", "b")
		r.must("c", "d")
		r.lab.Heal()
		r.must("b", "c")
	})
}

// The verdict and the words of what runs inside are those of the test.
func TestVerdict(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"passes", "--- PASS"}, {"fails", "--- FAIL"}, {"skips", "--- SKIP"}, {"panics", "--- FAIL"}, {"exits", "--- FAIL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnds$/^"+tt.name+"$", "-test.v")
			cmd.Env = append(os.Environ(), ends+"=1")
			out, err := cmd.CombinedOutput()
			if (err == nil) != (tt.want != "--- FAIL") {
				t.Errorf("%v", err)
			}
			for _, want := range []string{tt.want + ": TestEnds/" + tt.name, "about to end"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		})
	}
}

// ends lets TestEnds do what TestVerdict judges.
const ends = "NETWORK_TEST_ENDS"

func TestEnds(t *testing.T) {
	if os.Getenv(ends) == "" {
		return // TestVerdict runs it
	}
	for name, end := range map[string]func(*testing.T){
		"passes": func(*testing.T) {},
		"fails":  func(t *testing.T) { t.Helper(); t.Fatal("so it is") },
		"skips":  func(t *testing.T) { t.Helper(); t.Skip("so it is") },
		"panics": func(*testing.T) { panic("so it is") },
		"exits":  func(*testing.T) { os.Exit(0) },
	} {
		t.Run(name, func(t *testing.T) {
			network.Run(t, func(*network.Lab) {
				t.Log("about to end")
				end(t)
			})
		})
	}
}

// What is late comes, and not before its time; what is cut off does not come, late or not.
func TestLate(t *testing.T) {
	t.Parallel()
	if err := network.CanBeLate(); err != nil {
		if testing.Short() {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	in(t, []string{"a", "b", "c"}, func(r rig) {
		const by = 100 * time.Millisecond
		old := r.must("a", "b")
		if err := r.lab.Late([]string{"a", "b"}, 1, by); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if !r.echoes(old, "late", long) || time.Since(began) < 2*by {
			t.Errorf("a line and its echo took %v, and both are late by %v", time.Since(began), by)
		}
		r.must("a", "c")
		r.lab.Cut("a", "b")
		if r.echoes(old, "meanwhile", short) {
			t.Error("what is late crosses the cut")
		}
		r.lab.Mend("a", "b")
		if !r.echoes(old, "", long) {
			t.Error("what was sent meanwhile never comes back")
		}
		if err := r.lab.OnTime(); err != nil {
			t.Fatal(err)
		}
		r.must("b", "a")
	})
}
