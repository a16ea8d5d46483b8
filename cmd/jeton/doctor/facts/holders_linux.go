package facts

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holdersOf are the processes that listen at ports, as far as this user may see them.
func holdersOf() map[socket]holder {
	sockets := map[string]socket{}
	for _, table := range []struct{ name, network string }{{"tcp", "tcp"}, {"tcp6", "tcp"}, {"udp", "udp"}, {"udp6", "udp"}} {
		if text, err := os.ReadFile("/proc/net/" + table.name); err == nil {
			inodes(strings.Split(string(text), "\n"), table.network, sockets)
		}
	}
	found := map[socket]holder{}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return found
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		open, err := os.ReadDir(process(pid, "fd"))
		if err != nil {
			continue // another user's
		}
		for _, fd := range open {
			link, err := os.Readlink(filepath.Join(process(pid, "fd"), fd.Name()))
			inode, is := strings.CutPrefix(link, "socket:[")
			if err != nil || !is {
				continue
			}
			if key, listens := sockets[strings.TrimSuffix(inode, "]")]; listens {
				name, _ := os.ReadFile(process(pid, "comm"))
				found[key] = holder{pid, strings.TrimSpace(string(name))}
			}
		}
	}
	return found
}
