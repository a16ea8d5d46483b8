package network

import (
	"errors"
	"os/exec"
	"testing"
)

// open makes a network without hosts.
func open(t *testing.T) (*Lab, error) {
	t.Helper()
	l := &Lab{t: t, hosts: map[string]*host{}, cuts: map[cut]bool{}}
	var err error
	if l.ip, err = find("ip"); err != nil {
		return nil, err
	}
	if l.nsenter, err = find("nsenter"); err != nil {
		return nil, err
	}
	if err := furnish(); err != nil {
		return nil, err
	}
	t.Cleanup(l.close)
	trial := cut{from: "192.0.2.1", to: "192.0.2.2", tcp: true} // are there such rules on this system?
	if err := l.batch("link set lo up", "rule add "+trial.rule(), "rule del "+trial.rule()); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Lab) close() {
	if err := l.OnTime(); err != nil {
		l.t.Error(err)
	}
	for _, h := range l.hosts {
		h.space.close()
	}
}

// find is the path of a program of the system, also where only root looks for it.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	for _, dir := range []string{"/usr/sbin/", "/sbin/", "/usr/bin/"} {
		if err == nil {
			break
		}
		path, err = exec.LookPath(dir + program)
	}
	if err != nil {
		return "", errors.New(program + " is not installed")
	}
	return path, nil
}
