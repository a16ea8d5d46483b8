package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Resident is how many bytes of memory the process has; 0 if that cannot be known.
func (n *Node) Resident() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", n.cmd.Process.Pid))
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
