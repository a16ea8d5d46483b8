package packages

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// folder is that of what .ci/test-packages has made: now, the packages and the binary of this source; before and again.
func folder(t *testing.T) string {
	t.Helper()
	return variable(t, "JETON_PACKAGES")
}

// debian is the root file system of a bare Debian, which is not to be changed.
func debian(t *testing.T) string {
	t.Helper()
	return variable(t, "JETON_DEBIAN")
}

func variable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatal(name, " is not set: run make test-packages")
	}
	return value
}

// A machine is a root file system that can be changed, in a network that all machines share: each has an address of its own in 127.0.0.0/8.
type machine struct {
	*testing.T

	root    string
	address string
}

// newMachine makes a machine out of a root file system, which it does not change. It keeps nothing when the test ends.
func newMachine(t *testing.T, base, address string) *machine {
	t.Helper()
	top := t.TempDir()
	mount(t, "tmpfs", top, "tmpfs", 0, "")
	root, upper, work := filepath.Join(top, "root"), filepath.Join(top, "upper"), filepath.Join(top, "work")
	for _, dir := range []string{root, upper, work} {
		if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // the root of a machine is for everybody
			t.Fatal(err)
		}
	}
	mount(t, "overlay", root, "overlay", 0, "lowerdir="+base+",upperdir="+upper+",workdir="+work)
	mount(t, "proc", filepath.Join(root, "proc"), "proc", 0, "")
	return &machine{T: t, root: root, address: address}
}

// mount mounts something until the test ends.
func mount(t *testing.T, source, target, kind string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		t.Fatalf("mounting %s at %s: %v", kind, target, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", target, err)
		}
	})
}

// command is a program of the machine, which runs there as a user.
func (m *machine) command(user syscall.Credential, args ...string) *exec.Cmd {
	m.Helper()
	program := args[0]
	if !strings.HasPrefix(program, "/") {
		for _, dir := range []string{"/usr/bin/", "/usr/sbin/"} {
			if _, err := os.Stat(m.root + dir + program); err == nil {
				program = dir + program
			}
		}
	}
	cmd := &exec.Cmd{Path: program, Args: args, Dir: "/", Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root, Credential: &user}
	return cmd
}

// try runs a program as root, and returns all that it says, and its exit code.
func (m *machine) try(args ...string) (said string, code int) {
	m.Helper()
	cmd := m.command(syscall.Credential{}, args...)
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		m.Fatalf("%q: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs a program as root, which must succeed.
func (m *machine) must(args ...string) (said string) {
	m.Helper()
	said, code := m.try(args...)
	if code != 0 {
		m.Fatalf("%q: exit code %d:\n%s", args, code, said)
	}
	return said
}

// write writes a file of root's.
func (m *machine) write(path, text string, mode os.FileMode) {
	m.Helper()
	if err := errors.Join(os.WriteFile(m.root+path, []byte(text), mode), os.Chmod(m.root+path, mode)); err != nil {
		m.Fatal(err)
	}
}

// read reads a file.
func (m *machine) read(path string) string {
	m.Helper()
	text, err := os.ReadFile(m.root + path)
	if err != nil {
		m.Fatal(err)
	}
	return string(text)
}

// has says whether there is a file, and of what mode.
func (m *machine) has(path string) (mode os.FileMode, is bool) {
	info, err := os.Stat(m.root + path)
	if err != nil {
		return 0, false
	}
	return info.Mode().Perm(), true
}

// bring puts a file of this machine onto the other.
func (m *machine) bring(file string) (path string) {
	m.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		m.Fatal(err)
	}
	path = "/root/" + filepath.Base(file)
	m.write(path, string(text), 0o644)
	return path
}

// A daemon is a process that runs on a machine until the test ends.
type daemon struct {
	*testing.T

	cmd *exec.Cmd
	log bytes.Buffer // to be read after its end
}

// start starts a process.
func (m *machine) start(cmd *exec.Cmd) *daemon {
	m.Helper()
	d := &daemon{T: m.T, cmd: cmd}
	cmd.Stdout, cmd.Stderr = &d.log, &d.log
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if m.Failed() {
			m.Logf("%q said:\n%s", cmd.Args, d.log.String())
		}
	})
	return d
}

// stop stops a process as systemd does; it must end well.
func (d *daemon) stop() {
	d.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		d.Fatalf("%q: %v:\n%s", d.cmd.Args, err, d.log.String())
	}
}
