package network

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// detour is the device through which packets go that may be late: what the router sends there, a goroutine of the test gets,
// and puts back into the router after a while.
const detour = "late0"

// The routing table that leads to the detour.
const detourTable = 77

// longest is the longest packet, in bytes.
const longest = 1 << 16

// A late is a detour that is open.
type late struct {
	device *os.File
	by     time.Duration
	share  float64
	timers sync.WaitGroup
	ended  chan struct{}
	rules  []string
}

// CanBeLate says why packets cannot be made late here; nil if they can.
func CanBeLate() error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/net/tun: %w", err)
	}
	return unix.Close(fd)
}

// Late makes a share of all packets between some hosts late by so much, from now on, each by chance. Those behind may arrive
// before them. OnTime ends it.
func (l *Lab) Late(hosts []string, share float64, by time.Duration) error {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.onTimeLocked(); err != nil {
		return err
	}
	device, err := openDetour()
	if err != nil {
		return err
	}
	d := &late{device: device, by: by, share: share, ended: make(chan struct{})}
	lines := []string{
		"link set " + detour + " up",
		fmt.Sprintf("route replace default dev %s table %d", detour, detourTable),
	}
	for _, a := range hosts {
		for _, b := range hosts {
			if a != b {
				// By the port at which it came in: what comes back from the detour is routed as ever, and dropped where it is cut off.
				rule := fmt.Sprintf("priority 90 iif %s from %s to %s lookup %d", l.hostLocked(a).port, l.hostLocked(a).address, l.hostLocked(b).address, detourTable)
				d.rules = append(d.rules, "rule del "+rule)
				lines = append(lines, "rule add "+rule)
			}
		}
	}
	go d.run()
	l.late = d
	return l.batch(lines...)
}

// OnTime ends what Late began.
func (l *Lab) OnTime() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.onTimeLocked()
}

func (l *Lab) onTimeLocked() error {
	d := l.late
	if d == nil {
		return nil
	}
	l.late = nil
	err := l.batch(d.rules...)
	d.close()
	return err
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
		if rand.Float64() >= d.share {
			d.pass(packet[:n])
			continue
		}
		kept := append([]byte(nil), packet[:n]...)
		d.timers.Add(1)
		time.AfterFunc(d.by, func() {
			defer d.timers.Done()
			d.pass(kept)
		})
	}
}

// pass puts a packet back into the router. One that it does not take is lost, as packets are.
func (d *late) pass(packet []byte) { d.device.Write(packet) } //nolint:errcheck // see above

// close ends the goroutine, and waits for what is late.
func (d *late) close() {
	d.timers.Wait()
	d.device.Close() //nolint:errcheck // nothing is kept in it
	<-d.ended
}
