// Package ring says where keys live. It is pure. So far it knows partitions, the unit of placement; start with
// [PartitionOf].
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
