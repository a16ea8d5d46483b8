package nemesis

import "github.com/jeton-dev/jeton/cluster-tests/network"

// Config says what is run.
type Config struct {
	Setting

	// Again is the command that makes the same run again, for the report.
	Again string
	// Binary is that of jeton, built with the tag "faults". Required.
	Binary string
	// Args are those of every node, besides.
	Args []string
	// PerSecond is how many checks begin in a second, and Keys over how many keys they go.
	PerSecond, Keys int
	// Folder gets the history and the logs of the nodes. It is there, and empty. Required.
	Folder string
	// Lab is the network that the nodes are in; nil for loopback.
	Lab *network.Lab
}
