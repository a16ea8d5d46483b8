package facts

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// groups is where control groups are mounted.
const groups = "/sys/fs/cgroup"

// groupOf adds what the control group of a process allows it; 0 is that of this program. Only version 2 of control groups is read, besides what the
// caller knows of memory.
func groupOf(pid int, memory *Memory, processors *Processors) {
	text, err := os.ReadFile(process(pid, "cgroup"))
	if err != nil {
		return
	}
	at, ok := groupIn(string(text))
	if !ok {
		return
	}
	own := filepath.Join(groups, at)
	if killed, err := os.ReadFile(filepath.Join(own, "memory.events")); err == nil && pid > 0 {
		n, _ := counted(string(killed), "oom_kill")
		memory.Killed = int(n)
	}
	for dir := own; within(dir, groups); dir = filepath.Dir(dir) { // what is allowed to a group bounds those in it
		takeGroup(dir, memory, processors)
	}
}

// groupIn is the path of a group of version 2, by the /proc/PID/cgroup of a process that is in it.
func groupIn(text string) (path string, ok bool) {
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path, true
		}
	}
	return "", false
}

// takeGroup adds what one group says.
func takeGroup(dir string, memory *Memory, processors *Processors) {
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	if most, err := strconv.ParseUint(strings.TrimSpace(read("memory.max")), 10, 64); err == nil && (memory.There == 0 || most < memory.There) {
		memory.There, memory.Of = most, "the control group"
	}
	if quota := quotaOf(read("cpu.max")); quota > 0 && (processors.Quota == 0 || quota < processors.Quota) {
		processors.Quota = quota
		processors.Periods, _ = counted(read("cpu.stat"), "nr_periods")
		processors.Throttled, _ = counted(read("cpu.stat"), "nr_throttled")
	}
}

// quotaOf is how many processors a cpu.max allows, such as "150000 100000"; 0 for no bound.
func quotaOf(text string) float64 {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0
	}
	most, err := strconv.ParseFloat(fields[0], 64)
	period, perr := strconv.ParseFloat(fields[1], 64)
	if err != nil || perr != nil || period <= 0 {
		return 0
	}
	return most / period
}

// counted is a number of a file of names and numbers.
func counted(text, name string) (int64, bool) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
