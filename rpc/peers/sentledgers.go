package peers

import (
	"maps"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/difference"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// minDiffering is how many bytes a ledger has at least that is sent as a difference: what says of which ledgers a difference is takes 34.
const minDiffering = 256

// sentLedgers are the ledgers that this node has sent to others last: the next one goes as its difference from that. The other node takes
// what comes on a stream in order, so that is most likely the ledger that it will have by then. If it is not, it asks for the whole.
//
// They are kept in two generations. What is sent is young; once the young ones fill half of the memory, they become the old ones,
// and what is old by then is forgotten.
type sentLedgers struct {
	most int64 // bytes

	mu         sync.Mutex
	young, old map[sentTo]sentLedger
	bytes      int64 // of the young
}

// A sentTo is a bucket at the other end of a stream.
type sentTo struct {
	stream     *differing
	partition  ring.Partition
	key, limit string
}

type sentLedger struct {
	bytes []byte
	sum   difference.Sum
}

func newSentLedgers(most int64) *sentLedgers {
	return &sentLedgers{most: most, young: map[sentTo]sentLedger{}}
}

// sentEntry is about how many bytes an entry takes besides its texts and its ledger.
const sentEntry = 192

func (to *sentTo) room(l sentLedger) int64 {
	return int64(sentEntry + len(to.key) + len(to.limit) + cap(l.bytes))
}

// take takes a ledger out, to be replaced by the next.
func (s *sentLedgers) take(to sentTo) (l sentLedger, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, found = s.young[to]; found {
		s.bytes -= to.room(l)
		delete(s.young, to)
	} else if l, found = s.old[to]; found {
		delete(s.old, to)
	}
	return l, found
}

func (s *sentLedgers) put(to sentTo, l sentLedger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := to.room(l)
	if s.bytes+room > s.most/2 {
		s.young, s.old, s.bytes = map[sentTo]sentLedger{}, s.young, 0
	}
	if room <= s.most/2 {
		s.young[to] = l
		s.bytes += room
	}
}

// forget forgets what was sent on a stream that has ended.
func (s *sentLedgers) forget(stream *differing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.old, func(to sentTo, _ sentLedger) bool { return to.stream == stream })
	maps.DeleteFunc(s.young, func(to sentTo, l sentLedger) bool {
		if to.stream != stream {
			return false
		}
		s.bytes -= to.room(l)
		return true
	})
}

// differing makes the differences that go on one stream.
type differing struct {
	sent    *sentLedgers // nil: the node takes none
	maker   difference.Maker
	scratch []byte
}

// difference is what is sent in place of the ledger of m; nil for the whole. From now on, m's ledger is what was sent last.
func (d *differing) difference(m *reg.Reservation, whole bool, metrics *remoteMetrics) []byte {
	if d.sent == nil || len(m.Ledger) < minDiffering {
		metrics.whole.Add(float64(len(m.Ledger)))
		return nil
	}
	to := sentTo{d, m.Partition, m.Key, m.Limit}
	base, found := d.sent.take(to)
	sum := difference.SumOf(m.Ledger)
	d.scratch = d.scratch[:0]
	if found && !whole {
		d.scratch = d.maker.Append(d.scratch, base.bytes, base.sum, m.Ledger, sum)
	}
	if cap(base.bytes) > 2*len(m.Ledger) {
		base.bytes = nil
	}
	d.sent.put(to, sentLedger{append(base.bytes[:0], m.Ledger...), sum})
	if len(d.scratch) == 0 || len(d.scratch) >= len(m.Ledger) {
		metrics.whole.Add(float64(len(m.Ledger)))
		return nil
	}
	metrics.differences.Add(float64(len(d.scratch)))
	return d.scratch
}
