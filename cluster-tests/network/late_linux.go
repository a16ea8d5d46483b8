package network

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// The routing table that leads to the detour.
const detourTable = 77

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
