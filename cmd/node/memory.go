package node

import "github.com/jeton-dev/jeton/storage"

// The shares of Config.Memory:
//
//	1/4  what storage keeps of registers in memory: Pebble's cache, what is in the journal and not in Pebble yet
//	1/4  awake and dormant keys, and the checks that wait for them
//	1/64 ledgers that were sent to other nodes
//	     everything else: messages under way, raft, the program itself, and garbage that is not collected yet
const (
	storageShare = 4
	actorShare   = 4
	ledgerShare  = 64
)

func (c *Config) storageMemory() int64 { return c.Memory / storageShare }

func (c *Config) actorMemory() int64 { return c.Memory / actorShare }

func (c *Config) ledgerMemory() int64 { return c.Memory / ledgerShare }

// OffHeap is about how many bytes of Memory Go's collector does not see.
func (c *Config) OffHeap() int64 { return storage.OffHeap(c.storageMemory()) }
