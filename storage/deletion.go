package storage

import "github.com/cockroachdb/pebble/v2"

// A deletion deletes some registers of a range of keys, as a part of a batch. It writes one range tombstone for many
// adjacent registers: the tombstone costs little however much it covers, and Pebble drops an sstable that lies within it
// without reading it.
//
// A range tombstone also deletes registers that the iterator does not show, so it may be used only while none are ingested.
type deletion struct {
	batch     *pebble.Batch
	useRanges bool // range tombstones may be used
	count     int  // registers deleted
	anyKept   bool // a register was not deleted

	text []byte // the keys of adjacent registers that are to be deleted
	ends []int  // where each key ends in text
}

// minRange is how many adjacent registers are deleted by a range tombstone at least: reads must skip every tombstone.
const minRange = 256

// delete deletes a register. Calls of delete and keep are in the order of the keys.
func (d *deletion) delete(key []byte) {
	d.text = append(d.text, key...)
	d.ends = append(d.ends, len(d.text))
	d.count++
}

// keep is called for each register that stays.
func (d *deletion) keep() error {
	d.anyKept = true
	n := len(d.ends)
	if n >= minRange && d.useRanges {
		return d.finish(d.batch.DeleteRange(d.text[:d.ends[0]], append(d.text[d.ends[n-2]:], 0), nil))
	}
	from := 0
	for _, end := range d.ends {
		if err := d.batch.Delete(d.text[from:end], nil); err != nil {
			return err
		}
		from = end
	}
	return d.finish(nil)
}

// end is called after the last register between lower and upper. For Pebble, adjacent ranges are one.
func (d *deletion) end(lower, upper []byte) error {
	if !d.anyKept && d.useRanges && len(d.ends) >= minRange {
		return d.finish(d.batch.DeleteRange(lower, upper, nil))
	}
	return d.keep()
}

func (d *deletion) finish(err error) error {
	d.text, d.ends = d.text[:0], d.ends[:0]
	return err
}
