// Package facts gathers what jeton doctor judges: of this machine, where a node runs or will run ([OfMachine]), and of a cluster, by asking one
// of its nodes ([OfCluster]). Nothing is judged here, and nothing is changed: the one thing that is written is a file of some hundred kilobytes
// in the data folder, or above it where it does not exist yet, by which the disk is timed, and which is deleted again.
//
// Where something cannot be found out, the fact says why in a field Unknown.
package facts

import (
	"context"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/storage"
)

// MachineConfig says what is looked at.
type MachineConfig struct {
	Node   node.Config // as the node has it, or will have it
	Memory Memory      // what the caller knows of it
}

// A Machine is what was found out about this machine.
type Machine struct {
	At   time.Time `json:"at"`
	User string    `json:"user"` // as which this program runs
	// Wrong is why the node would not take its options; empty if it would.
	Wrong      string     `json:"wrong,omitempty"`
	InMemory   bool       `json:"in_memory"`   // decisions are kept in memory only
	Clustered  bool       `json:"clustered"`   // others may join the node
	Folder     Folder     `json:"folder"`      // the data folder
	Disk       Disk       `json:"disk"`        // that the data folder is on
	Files      Files      `json:"descriptors"` // open files
	Memory     Memory     `json:"memory"`
	Processors Processors `json:"processors"`
	Clock      Clock      `json:"clock"`
	Ports      []Port     `json:"ports"`
	Join       []Joined   `json:"join"`  // addresses of other nodes
	Named      []Named    `json:"files"` // files that options name
}

// OfMachine looks at this machine. It takes about a second, and some more where the disk is slow.
func OfMachine(ctx context.Context, cfg MachineConfig) *Machine {
	c := &cfg.Node
	m := &Machine{
		At: time.Now(), User: thisUser(), InMemory: c.Durability == storage.Memory, Clustered: c.ListenGossip != "", Memory: cfg.Memory, Clock: clockNow(),
		Folder: folderAt(c.Data), Processors: Processors{Count: runtime.NumCPU()},
	}
	m.Disk = diskOf(ctx, m.Folder.Made)
	m.Files = filesOf(m.Folder.Holder)
	m.Memory.Killed = -1
	groupOf(m.Folder.Holder, &m.Memory, &m.Processors)
	m.Ports = portsOf(ctx, c, m.Folder.Holder)
	m.Join = joinedBy(ctx, c)
	m.Named = namedBy(c, m.Folder.owner)
	if err := refused(c, m.Named); err != nil {
		m.Wrong = err.Error()
	}
	return m
}

// refused is why a node would not start with its options, as jeton serve --check says it. What is wrong with a file is a fact of that file, and not
// told twice.
func refused(c *node.Config, files []Named) error {
	if slices.ContainsFunc(files, func(f Named) bool { return f.Wrong != "" }) {
		return c.Check()
	}
	return node.Try(*c)
}

// thisUser is who runs this program.
func thisUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Geteuid())
}
