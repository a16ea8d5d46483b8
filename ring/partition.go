// Package ring computes the placement of keys, as pure functions: partitions, the unit of placement ([PartitionOf]); the
// [Table] with the replica set and epoch of each partition; how a table is computed ([Assign]), and how two of them differ
// ([Diff]).
//
//	key → hash → partition → place: epoch, replicas (the first healthy one is the owner)
//
// Assign promises even shares, replicas in different zones, and few moves when nodes join and leave. It is called once per
// planned change, and the cluster agrees on its result and stores it: no node derives a table by itself. Start with
// [Table.Of].
package ring

import "github.com/cespare/xxhash/v2"

// DefaultPartitions is the default number of partitions. The number is fixed for the lifetime of a cluster.
const DefaultPartitions = 271

// A Partition is the set of keys with the same hash modulo the number of partitions, counted from 0.
type Partition uint16

// Hash is the hash that places key: xxhash64.
func Hash(key string) uint64 { return xxhash.Sum64String(key) }

// PartitionOf is the partition of a key with that hash among n partitions.
func PartitionOf(hash uint64, n int) Partition { return Partition(hash % uint64(n)) }
