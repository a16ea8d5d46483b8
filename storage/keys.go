package storage

import (
	"encoding/binary"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// The keys in Pebble. The registers of a partition are adjacent, so that it can be exported and swept; in it, those of one
// client's key are adjacent.
//
//	┌─────┬────────────────┐
//	│ 'm' │ name           │  one value about the node: see meta.go
//	└─────┴────────────────┘
//	┌─────┬────────────────┐
//	│ 'p' │ partition      │  a register.Partition
//	│ 1   │ 2, big endian  │
//	└─────┴────────────────┘
//	┌─────┬────────────────┬───────────────┬───────┬───────┐
//	│ 'r' │ partition      │ length of key │ key   │ limit │  a register.Register
//	│ 1   │ 2, big endian  │ 2, big endian │ 1–512 │ 1–64  │
//	└─────┴────────────────┴───────────────┴───────┴───────┘
//
// A partition has two bytes, hence maxPartitions.
const (
	maxPartitions = 1 << 16

	metaPrefix      = 'm'
	partitionPrefix = 'p'
	registerPrefix  = 'r'
)

func metaKey(name string) []byte { return append([]byte{metaPrefix}, name...) }

func partitionKey(p ring.Partition) []byte {
	return binary.BigEndian.AppendUint16([]byte{partitionPrefix}, uint16(p))
}

// registerKey appends the key of a bucket's register to dst.
func registerKey(dst []byte, p ring.Partition, key, limit string) []byte {
	dst = append(dst, registerPrefix)
	dst = binary.BigEndian.AppendUint16(dst, uint16(p))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(key)))
	dst = append(dst, key...)
	return append(dst, limit...)
}

// partitionOf is the partition that a register key begins with.
func partitionOf[K []byte | string](k K) ring.Partition {
	return ring.Partition(k[1])<<8 | ring.Partition(k[2])
}

// registerKeyHead is how many bytes precede the client's key.
const registerKeyHead = 5

// parseRegisterKey is the inverse of registerKey.
func parseRegisterKey(k []byte) (p ring.Partition, key, limit string, err error) {
	if len(k) < registerKeyHead || k[0] != registerPrefix {
		return 0, "", "", register.ErrCorrupt
	}
	if len(k) < registerKeyHead+int(binary.BigEndian.Uint16(k[3:])) {
		return 0, "", "", register.ErrCorrupt
	}
	p, key, limit = cutRegisterKey(string(k))
	return p, key, limit, nil
}

// cutRegisterKey is parseRegisterKey for a key that is known to be valid.
func cutRegisterKey(k string) (p ring.Partition, key, limit string) {
	p = ring.Partition(k[1])<<8 | ring.Partition(k[2])
	end := registerKeyHead + (int(k[3])<<8 | int(k[4]))
	return p, k[registerKeyHead:end], k[end:]
}

// registersOf is the range of the register keys of a partition: from lower up to, but not including, upper.
func registersOf(p ring.Partition) (lower, upper []byte) {
	lower = binary.BigEndian.AppendUint16([]byte{registerPrefix}, uint16(p))
	if p == ^ring.Partition(0) {
		return lower, []byte{registerPrefix + 1}
	}
	return lower, binary.BigEndian.AppendUint16([]byte{registerPrefix}, uint16(p)+1)
}

// parsePartition reads the lower end of a range of registersOf.
func parsePartition(lower []byte) (p ring.Partition, ok bool) {
	if len(lower) != 3 || lower[0] != registerPrefix {
		return 0, false
	}
	return partitionOf(lower), true
}

// appendWrite appends one write to the payload of a journal record, which is a sequence of them. A write is the key and the
// value of a register; or the first three bytes of a partition's keys and no value: the partition was dropped.
//
//	┌───────────────┬─────┬─────────────────┬───────┐
//	│ length of key │ key │ length of value │ value │
//	│ varint        │     │ varint          │       │
//	└───────────────┴─────┴─────────────────┴───────┘
func appendWrite(dst, key, value []byte) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
	return append(binary.AppendUvarint(dst, uint64(len(value))), value...)
}

// cutWrite takes the first write off src.
func cutWrite(src []byte) (key, value, rest []byte, err error) {
	key, rest, err = cutBytes(src)
	if err == nil {
		value, rest, err = cutBytes(rest)
	}
	if err == nil && len(key) == 0 {
		err = register.ErrCorrupt
	}
	return key, value, rest, err
}

func cutBytes(src []byte) (field, rest []byte, err error) {
	length, n := binary.Uvarint(src)
	if n <= 0 || length > uint64(len(src)-n) {
		return nil, nil, register.ErrCorrupt
	}
	end := n + int(length)
	return src[n:end:end], src[end:], nil
}
