package packages

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A unit is a service as systemd reads it from its file: what stands in it last counts.
type unit map[string]string

// dynamicUser is a user that systemd would make up for a unit that has DynamicUser.
const dynamicUser = 61184

// unit reads the file of an installed unit.
func (m *machine) unit(name string) unit {
	m.Helper()
	u := unit{}
	for line := range strings.Lines(m.read("/usr/lib/systemd/system/" + name)) {
		if key, value, is := strings.Cut(strings.TrimSpace(line), "="); is && !strings.HasPrefix(line, "#") {
			u[key] = value
		}
	}
	return u
}

// begin starts a unit as systemd would: its command line, as its user, with its directory of state.
func (m *machine) begin(name string) *daemon {
	m.Helper()
	u := m.unit(name)
	args := strings.Fields(u["ExecStart"])
	if len(args) == 0 || strings.ContainsAny(u["ExecStart"], `"'$%\`) {
		m.Fatalf("%s: ExecStart=%s is more than words", name, u["ExecStart"])
	}
	as := syscall.Credential{Uid: dynamicUser, Gid: dynamicUser}
	if u["DynamicUser"] != "yes" {
		as = m.user(u["User"])
	}
	if state := u["StateDirectory"]; state != "" {
		m.own("/var/lib/"+state, as, u["StateDirectoryMode"])
	}
	return m.start(m.command(as, args...))
}

// own makes a directory a user's, if it is not there yet.
func (m *machine) own(path string, as syscall.Credential, mode string) {
	m.Helper()
	perm, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		m.Fatal(err)
	}
	if err := os.MkdirAll(m.root+path, os.FileMode(perm)); err != nil {
		m.Fatal(err)
	}
	if err := os.Chown(m.root+path, int(as.Uid), int(as.Gid)); err != nil {
		m.Fatal(err)
	}
}

// user is a user of the machine, with its group.
func (m *machine) user(name string) syscall.Credential {
	m.Helper()
	for line := range strings.Lines(m.read("/etc/passwd")) {
		if fields := strings.Split(line, ":"); fields[0] == name {
			uid, err := strconv.ParseUint(fields[2], 10, 32)
			gid, wrong := strconv.ParseUint(fields[3], 10, 32)
			if err := errors.Join(err, wrong); err != nil {
				m.Fatal(err)
			}
			return syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	m.Fatalf("the machine has no user %q", name)
	return syscall.Credential{}
}

// owner is the name of the user and the group of a file on the machine.
func (m *machine) owner(path string) string {
	m.Helper()
	return strings.TrimSpace(m.must("stat", "-c", "%U:%G", path))
}
