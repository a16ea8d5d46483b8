package limit

import (
	"encoding/binary"
	"slices"

	"github.com/dchest/siphash"
)

// HoldNumbers give the holds of a bucket their ids. They tell of an id that is listed no more whether its hold was settled, however many
// have been settled since.
//
//	                       40 bits   24 bits
//	id = permuted, of the ┌────────┬─────────┐
//	bucket's secret:      │ number │ drawn   │
//	                      └────────┴─────────┘
//
// Holds are numbered in the order in which they are taken. One that is listed no more was settled for what its settlement said, unless
// it came to another end: the numbers of the latest of these are kept. Nobody can tell an id from 64 drawn bits; of those that are made up, one in 2⁴⁰ / last is
// taken for one that was settled, which changes nothing. The drawn bits make ids differ that have the same number because a write came
// to nothing.
//
// The permutation is a Feistel network of four rounds, each of which is SipHash-2-4: Luby and Rackoff, "How to construct pseudorandom
// permutations from pseudorandom functions", SIAM Journal on Computing 17 (1988); Aumasson and Bernstein, "SipHash: a fast short-input PRF",
// INDOCRYPT 2012. A block cipher would need a key schedule of half a kilobyte for each bucket, which is seldom in the processor's cache.
type HoldNumbers struct {
	secret [16]byte
	last   uint64 // the number of the newest hold; 0 for none
	unsure uint64 // up to this number, a hold that is not listed may have come to another end than a settlement
	// others are the numbers above unsure of holds that came to another end, sorted. Copies share the slice: it is replaced, never changed.
	others []uint64
}

// maxOthers is how long others may be. Where one more comes, the lowest goes, and unsure is raised to it.
const maxOthers = 256

const (
	drawnBits = 24
	maxNumber = 1<<(64-drawnBits) - 1
)

// Next is the id of a new hold. The first one draws the secret, and so does the one after maxNumber.
func (n *HoldNumbers) Next(draw func() uint64) (id uint64) {
	if n.last == 0 || n.last == maxNumber {
		*n = HoldNumbers{}
		binary.BigEndian.PutUint64(n.secret[:8], draw())
		binary.BigEndian.PutUint64(n.secret[8:], draw())
	}
	n.last++
	for id == 0 { // which stands for none
		id = n.seal(n.last<<drawnBits | draw()&(1<<drawnBits-1))
	}
	return id
}

// Last is the number of the hold whose id Next has given last.
func (n *HoldNumbers) Last() uint64 { return n.last }

// Forget notes that the hold is listed no more, and came to another end than a settlement for what was used.
func (n *HoldNumbers) Forget(id uint64) {
	number, ok := n.Number(id)
	if !ok || number <= n.unsure {
		return
	}
	i, there := slices.BinarySearch(n.others, number)
	if there {
		return
	}
	if n.others = slices.Insert(slices.Clone(n.others), i, number); len(n.others) > maxOthers {
		n.unsure, n.others = n.others[0], n.others[1:]
	}
}

// Settled says of a hold that is not listed that it was settled for what its settlement said.
func (n *HoldNumbers) Settled(id uint64) bool {
	number, ok := n.Number(id)
	return ok && n.Tells(number)
}

// Tells says whether the number of a hold, once it is not listed any more, tells that it was settled for what its settlement said.
func (n *HoldNumbers) Tells(number uint64) bool {
	if number <= n.unsure {
		return false
	}
	_, other := slices.BinarySearch(n.others, number)
	return !other
}

// Number is the number of a hold; ok is false for an id that was made up.
func (n *HoldNumbers) Number(id uint64) (number uint64, ok bool) {
	if n.last == 0 {
		return 0, false
	}
	number = n.open(id) >> drawnBits
	return number, 0 < number && number <= n.last
}

func (n *HoldNumbers) seal(plain uint64) uint64 {
	left, right := uint32(plain>>32), uint32(plain)
	for round := range byte(4) {
		left, right = right, left^n.round(round, right)
	}
	return uint64(left)<<32 | uint64(right)
}

// open undoes seal.
func (n *HoldNumbers) open(id uint64) uint64 {
	left, right := uint32(id>>32), uint32(id)
	for round := byte(4); round > 0; round-- {
		left, right = right^n.round(round-1, left), left
	}
	return uint64(left)<<32 | uint64(right)
}

// round is 32 bits of the hash of the round and half, under the secret.
func (n *HoldNumbers) round(round byte, half uint32) uint32 {
	message := binary.BigEndian.AppendUint32(append(make([]byte, 0, 5), round), half)
	return uint32(siphash.Hash(binary.BigEndian.Uint64(n.secret[:8]), binary.BigEndian.Uint64(n.secret[8:]), message))
}

// Bytes is about how much memory n holds besides itself.
func (n *HoldNumbers) Bytes() int64 { return 8 * int64(cap(n.others)) }

// append appends what a ledger stores, but for others.
func (n *HoldNumbers) append(dst []byte) []byte {
	dst = append(dst, n.secret[:]...)
	return binary.AppendUvarint(binary.AppendUvarint(dst, n.last), n.unsure)
}

// appendOthers appends others, each as its distance from the one before, the first from unsure.
func (n *HoldNumbers) appendOthers(dst []byte) []byte {
	before := n.unsure
	for _, number := range n.others {
		dst = binary.AppendUvarint(dst, number-before)
		before = number
	}
	return dst
}

// readOthers reads what appendOthers has appended, which is all that is left.
func (n *HoldNumbers) readOthers(d *byteReader) bool {
	before := n.unsure
	for len(d.left) > 0 {
		since := d.number()
		if since == 0 || since > n.last-before || len(n.others) == maxOthers {
			return false
		}
		before += since
		n.others = append(n.others, before)
	}
	return true
}

// read reads what append has appended.
func (n *HoldNumbers) read(d *byteReader) bool {
	secret := d.bytes(len(n.secret))
	last, unsure := d.number(), d.number()
	if secret == nil || unsure > last || last > maxNumber {
		return false
	}
	*n = HoldNumbers{last: last, unsure: unsure}
	copy(n.secret[:], secret)
	return true
}
