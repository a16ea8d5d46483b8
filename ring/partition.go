// Package ring says where keys live. It is pure: partitions, the unit of placement ([PartitionOf]); the [Table] that
// names the replica set of each, with an epoch; how a table comes about ([Assign]), and how two of them differ ([Diff]).
//
//	key → hash → partition → place: epoch, replicas (the first healthy one is the owner)
//
// Assign promises even shares, replicas in different zones, and few moves when nodes come and go. It is asked once per
// planned change, and its answer is agreed and stored: no node ever derives a table by itself. Start with [Table.Of].
package ring

import "github.com/cespare/xxhash/v2"

// DefaultPartitions is how many partitions a cluster has unless it was made with another number. The number is fixed
// when the cluster is made.
const DefaultPartitions = 271

// A Partition is the set of keys with the same hash modulo the number of partitions, counted from 0.
type Partition uint16

// Hash is the hash that places key: xxhash64.
func Hash(key string) uint64 { return xxhash.Sum64String(key) }

// PartitionOf is the partition of a key with that hash among n partitions.
func PartitionOf(hash uint64, n int) Partition { return Partition(hash % uint64(n)) }
