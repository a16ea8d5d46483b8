package storage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is its own second process: TestMain performs a task instead of the tests when there is one.
const (
	taskVariable      = "JETON_STORAGE_TASK"
	directoryVariable = "JETON_STORAGE_DIRECTORY"
)

// perform opens the directory and says so, or why not; with the task "hold" it keeps it open until its input ends.
func perform(task, dir string) (code int) {
	s, err := Open(Config{Dir: dir, Now: func() int64 { return time.Now().UnixNano() }})
	switch {
	case errors.Is(err, ErrLocked):
		fmt.Println("locked:", err)
	case errors.Is(err, ErrUnwritable):
		fmt.Println("unwritable:", err)
	case err != nil:
		fmt.Println("error:", err)
	default:
		fmt.Println("open")
		if task == "hold" {
			if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
				fmt.Println("input:", err)
			}
		}
		if err := s.Close(); err != nil {
			fmt.Println("close:", err)
			return 1
		}
	}
	return 0
}

// process starts a second process and returns the first line that it prints. Closing its input ends it.
func process(t *testing.T, binary, task, dir string, as *syscall.SysProcAttr) (line string, input io.Closer, wait func() error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), taskVariable+"="+task, directoryVariable+"="+dir)
	cmd.SysProcAttr = as
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); as != nil && errors.Is(err, os.ErrPermission) {
		t.Skipf("cannot start a process as another user: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the process said %q: %v", line, err)
	}
	return strings.TrimSpace(line), in, cmd.Wait
}

func ownBinary(t *testing.T) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func TestLockedByAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	line, input, wait := process(t, ownBinary(t), "hold", dir, nil)
	if line != "open" {
		t.Fatalf("the other process said %q", line)
	}
	cfg := Config{Dir: dir, Now: func() int64 { return epoch }}
	_, err := Open(cfg)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "stop the jeton that runs on "+dir) {
		t.Errorf("open: %v", err)
	}
	input.Close()
	if err := wait(); err != nil {
		t.Fatalf("the other process: %v", err)
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatalf("open after the other process has ended: %v", err)
	}
	defer shut(t, s)
	line, input, wait = process(t, ownBinary(t), "try", dir, nil)
	input.Close()
	if err := wait(); err != nil || !strings.HasPrefix(line, "locked: ") {
		t.Errorf("the other process said %q, %v", line, err)
	}
}

// A directory that this user may not write, on the operating system's own file system. Root may write everything, so it
// lets a process without a name try.
func TestUnwritableDirectory(t *testing.T) {
	place, err := os.MkdirTemp("", "jeton") //nolint:usetesting // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(place); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(place, "data")
	if err := errors.Join(os.Chmod(place, 0o755), os.Mkdir(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	binary := ownBinary(t)
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		const nobody = 65534
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		binary = filepath.Join(place, "test")
		copyFile(t, ownBinary(t), binary)
	}
	line, input, wait := process(t, binary, "try", dir, as)
	input.Close()
	if err := wait(); err != nil || !strings.HasPrefix(line, "unwritable: ") || !strings.Contains(line, "name a directory that this user can write to (--data)") {
		t.Errorf("the other process said %q, %v", line, err)
	}
}

// copyFile copies a program to a place where others may run it.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	program, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, program, 0o755); err != nil {
		t.Fatal(err)
	}
}
