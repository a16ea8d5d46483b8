package facts

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clockNow is what the kernel knows of the clock.
func clockNow() Clock {
	var state unix.Timex // of which nothing is to be changed
	what, err := unix.Adjtimex(&state)
	if err != nil {
		return Clock{Unknown: "adjtimex: " + err.Error()}
	}
	unit := time.Microsecond
	source, _ := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return Clock{
		Synchronized: what != unix.TIME_ERROR && state.Status&unix.STA_UNSYNC == 0,
		Error:        time.Duration(state.Esterror) * unit, Source: strings.TrimSpace(string(source)),
	}
}

// ownerOf is who owns a file.
func ownerOf(info fs.FileInfo) owner {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return owner{uid: int(s.Uid), gid: int(s.Gid), known: true}
	}
	return owner{}
}

// mountOf is the mount of a folder.
func mountOf(dir string) Mount {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return Mount{Unknown: err.Error()}
	}
	defer table.Close() //nolint:errcheck // it was only read
	return mountAt(table, dir)
}

// driveOf is the drive of a mount, as /sys/dev/block has it by number. A partition has what its drive has.
func driveOf(m Mount) (d Drive) {
	number := m.Device
	if info, err := os.Stat(m.Source); err == nil && strings.HasPrefix(number, "0:") { // btrfs and others have numbers of their own
		if s, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode()&fs.ModeDevice != 0 {
			number = strconv.Itoa(int(unix.Major(s.Rdev))) + ":" + strconv.Itoa(int(unix.Minor(s.Rdev)))
		}
	}
	at, err := filepath.EvalSymlinks("/sys/dev/block/" + number)
	if err != nil {
		return Drive{}
	}
	if _, err := os.Stat(filepath.Join(at, "partition")); err == nil {
		at = filepath.Dir(at)
	}
	cache, _ := os.ReadFile(filepath.Join(at, "queue", "write_cache"))
	rotates, _ := os.ReadFile(filepath.Join(at, "queue", "rotational"))
	return Drive{Name: filepath.Base(at), Cache: strings.TrimSpace(string(cache)), Rotating: bytes.HasPrefix(rotates, []byte("1"))}
}

// roomOf is what is left where a folder is.
func roomOf(dir string) Room {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Room{Unknown: err.Error()}
	}
	size := uint64(max(s.Bsize, 0)) //nolint:gosec // it is no less than 0
	return Room{Free: s.Bavail * size, Whole: s.Blocks * size, FreeFiles: s.Ffree, WholeFiles: s.Files}
}

// holderOf is the process that has locked a file; the lock is not touched.
func holderOf(path string) (pid int, unknown string) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, ""
	case err != nil:
		return 0, err.Error()
	}
	defer file.Close() //nolint:errcheck // nothing was written
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(file.Fd(), unix.F_GETLK, &lock); err != nil {
		return 0, err.Error()
	}
	switch {
	case lock.Type == unix.F_UNLCK:
		return 0, ""
	case lock.Pid <= 0:
		return 0, "the process that has locked it is not to be seen from here: it may run in another container"
	}
	return int(lock.Pid), ""
}

// filesOf is how many files a process may have open; 0 is one that this program would start. Go raises what is allowed to the most that may be.
func filesOf(pid int) Files {
	if pid > 0 {
		f := Files{Of: pid}
		if all, err := os.ReadDir(process(pid, "fd")); err == nil {
			f.Open = len(all)
		}
		text, err := os.ReadFile(process(pid, "limits"))
		if err != nil {
			f.Unknown = err.Error()
			return f
		}
		f.Limit = openFiles(string(text))
		return f
	}
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil {
		return Files{Unknown: err.Error()}
	}
	return Files{Limit: most.Max}
}

// openFiles is the most files that a process may have open, by its /proc/PID/limits; 0 where it does not say.
func openFiles(limits string) uint64 {
	for line := range strings.Lines(limits) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			if fields := strings.Fields(rest); len(fields) > 1 {
				n, _ := strconv.ParseUint(fields[1], 10, 64)
				return n
			}
		}
	}
	return 0
}

// process is a file that the kernel has about a process; 0 is this one.
func process(pid int, name string) string {
	who := "self"
	if pid > 0 {
		who = strconv.Itoa(pid)
	}
	return "/proc/" + who + "/" + name
}
