package network

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// detour is the network device that late packets take: what the router sends there, a goroutine of the test reads, and writes
// back to the router after a while.
const detour = "late0"

// longest is the longest packet, in bytes.
const longest = 1 << 16

// A late is a detour that is open.
type late struct {
	device *os.File
	by     time.Duration
	share  float64
	ended  chan struct{}
	rules  []string

	mu      sync.Mutex
	closing bool           // no packet is kept any more
	timers  sync.WaitGroup // of those that are
}

// openDetour makes the device.
func openDetour() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(detour)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // it was never used
		return nil, fmt.Errorf("make the device %s: %w", detour, err)
	}
	return os.NewFile(uintptr(fd), detour), nil
}

// run passes packets on until the device is closed.
func (d *late) run() {
	defer close(d.ended)
	packet := make([]byte, longest)
	for {
		n, err := d.device.Read(packet)
		if err != nil {
			return
		}
		if rand.Float64() >= d.share || !d.keep(packet[:n]) {
			d.pass(packet[:n])
		}
	}
}

// keep has a packet passed on late, unless the detour is being closed.
func (d *late) keep(packet []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return false
	}
	kept := append([]byte(nil), packet...)
	d.timers.Add(1)
	time.AfterFunc(d.by, func() {
		defer d.timers.Done()
		d.pass(kept)
	})
	return true
}

// pass puts a packet back into the router. One that it does not take is lost, as packets are.
func (d *late) pass(packet []byte) { d.device.Write(packet) } //nolint:errcheck // see above

// close ends the goroutine, and waits for what is late.
func (d *late) close() {
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.timers.Wait()
	d.device.Close() //nolint:errcheck // nothing is kept in it
	<-d.ended
}
