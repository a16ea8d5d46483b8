package doctor

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// fsync is how long writes take, and whether they can have reached a drive.
func fsync(j *judge, m *facts.Machine) {
	f, d := &m.Disk.Fsync, &m.Disk.Drive
	if f.Unknown != "" {
		if m.Folder.Wrong == "" {
			j.critical(fsyncFails, finding{
				what: fmt.Sprintf("user %s cannot write to %s: %s", m.User, m.Folder.Made, f.Unknown),
				do:   "Have the node's user own the folder. If that is another user than this one, run jeton doctor as that one.",
			})
		}
		return
	}
	j.sees("fsync", "%d writes of 4 KiB in %s: half took up to %s, 99 of 100 up to %s", f.Writes, m.Folder.Made, plain.Duration(f.P50), plain.Duration(f.P99))
	if f.P99 >= activity.FsyncWarns || f.P50 >= fsyncHalfWarns {
		j.warning(diskSlow, finding{
			what: fmt.Sprintf("the disk is slow: half of the fsyncs take %s or more, one of a hundred %s", plain.Duration(f.P50), plain.Duration(f.P99)),
			do:   "See what else writes to the disk, and whether the volume has reached its limit of operations; give jeton a disk of its own, an SSD.",
		})
	}
	quick := f.P50 < fsyncQuickest
	if quick && !inMemory(m.Disk.Mount.Type) {
		j.warning(fsyncQuick, finding{
			what: fmt.Sprintf("an fsync takes %s, which no drive can do: what the kernel calls durable is not on a drive", f.P50.Round(100*time.Nanosecond)),
			do:   "Find out what ignores fsync: a library such as eatmydata, a volatile overlay mount, or a hypervisor that caches writes. A power cut would take decisions back.",
		})
	}
	switch {
	case quick:
	case d.Rotating && f.P50 < rotation:
		j.unknown("fsync", "whether it is honest: the kernel calls drive %s rotating, and it answers sooner than a disk turns. It may be virtual, or have a cache; that cache must have a battery", d.Name)
	default:
		j.unknown("fsync", "whether the drive keeps what it says is kept%s: only a power cut tells. A virtual drive does if its host is set so (no cache=unsafe)", cacheOf(d))
	}
}

// cacheOf says what the kernel knows of a drive's cache.
func cacheOf(d *facts.Drive) string {
	switch d.Cache {
	case "write back":
		return fmt.Sprintf(" (%s has a cache of writes, which fsync flushes)", d.Name)
	case "write through":
		return fmt.Sprintf(" (%s says that it needs no flush)", d.Name)
	}
	return ""
}
