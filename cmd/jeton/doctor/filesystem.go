package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// inMemory says whether a file system keeps nothing when the machine ends.
func inMemory(kind string) bool {
	return slices.Contains([]string{"tmpfs", "ramfs", "rootfs", "hugetlbfs"}, kind)
}

// remote says whether it is another machine, or another program, that keeps a file system.
func remote(kind string) bool {
	return slices.Contains([]string{"9p", "virtiofs", "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "gfs2", "vboxsf", "afs"}, kind) || strings.HasPrefix(kind, "fuse")
}

// unsafeOptions are options of a mount by which a power cut may lose what fsync has returned for, or leave old bytes in files.
func unsafeOptions() []string {
	return []string{"nobarrier", "barrier=0", "data=writeback", "volatile", "fsync=volatile", "fsync_mode=nobarrier"}
}

// fileSystem is what the data folder is on.
func fileSystem(j *judge, m *facts.Machine) {
	mount := &m.Disk.Mount
	if mount.Type == "" {
		j.unknown("file system", "what %s is on: %s", m.Folder.Made, mount.Unknown)
		return
	}
	j.sees("file system", "%s, mounted at %s from %s", mount.Type, mount.Point, mount.Source)
	switch kind := mount.Type; {
	case inMemory(kind):
		j.warning(noDisk, finding{
			what: fmt.Sprintf("the data folder is on %s: when the machine starts again, it is empty", kind),
			do:   "Give a folder on a disk with --data. In tests there is nothing to do.",
		})
	case kind == "overlay", kind == "aufs":
		j.warning(layer, finding{
			what: "the data folder is in the container's own layer (" + kind + "): it is deleted with the container",
			do:   "Mount a volume at the data folder.",
		})
	case remote(kind):
		j.notice(elsewhere, finding{
			what: fmt.Sprintf("the data folder is on %s: whether an fsync reaches a disk is for the other side to say", kind),
			do:   "Use a disk of this machine, or a block volume. If it must be so, have the other side keep what is synchronized: NFS with sync, not async.",
		})
	}
	for _, option := range mount.Options {
		if slices.Contains(unsafeOptions(), option) {
			j.warning(unsafeMount, finding{
				what: fmt.Sprintf("%s is mounted with %s: a power cut can lose or spoil what fsync has returned for", mount.Point, option),
				do:   "Mount it without.",
			})
		}
	}
}

// room is what is left on the disk.
func room(j *judge, m *facts.Machine) {
	d := &m.Disk.Room
	if d.Unknown != "" {
		j.unknown("room", "how much is free: %s", d.Unknown)
		return
	}
	j.sees("room", "%s free of %s", size(d.Free), size(d.Whole))
	switch {
	case d.Free < activity.DiskStops:
		j.critical(diskFull, finding{what: "the disk has only " + size(d.Free) + " left", do: "Make room. A node whose disk is full stops."})
	case d.Free < activity.DiskWarns:
		j.warning(diskFull, finding{what: "the disk has only " + size(d.Free) + " left", do: "Make room. A node whose disk is full stops."})
	}
	if d.WholeFiles > 0 && float64(d.FreeFiles) < filesWarn*float64(d.WholeFiles) {
		j.warning(fewFiles, finding{
			what: fmt.Sprintf("the file system can hold only %d more files, of %d", d.FreeFiles, d.WholeFiles),
			do:   "Delete files that are not needed: a node that cannot make one stops, as on a full disk.",
		})
	}
}

// size is a number of bytes for people.
func size(n uint64) string {
	for _, unit := range []struct {
		bytes uint64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
