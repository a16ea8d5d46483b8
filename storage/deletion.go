package storage

import "github.com/cockroachdb/pebble/v2"

// A deletion deletes registers of a range of keys as a part of a batch. Where many are side by side, one range tombstone
// says so for all of them: it costs little however much it covers, and Pebble drops a table that lies within such ranges
// without reading it.
//
// A range tombstone deletes also what nobody has looked at, so it may be used only while nothing comes into Pebble that
// an iterator does not see.
type deletion struct {
	batch  *pebble.Batch
	ranges bool // may be used
	count  int  // registers deleted
	kept   bool // one that was not

	text []byte // the keys of those side by side
	ends []int  // of each
}

// sideBySide is from how many registers on a range is used: a few ranges are cheap to read across, many are not.
const sideBySide = 256

// delete is called for each register that is to be deleted, in the order of their keys.
func (d *deletion) delete(key []byte) {
	d.text = append(d.text, key...)
	d.ends = append(d.ends, len(d.text))
	d.count++
}

// keep is called for each that is not, in the same order.
func (d *deletion) keep() error {
	d.kept = true
	n := len(d.ends)
	if n >= sideBySide && d.ranges {
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

// end is called after the last register between lower and upper. Ranges that touch each other count as one for Pebble.
func (d *deletion) end(lower, upper []byte) error {
	if !d.kept && d.ranges && len(d.ends) >= sideBySide {
		return d.finish(d.batch.DeleteRange(lower, upper, nil))
	}
	return d.keep()
}

func (d *deletion) finish(err error) error {
	d.text, d.ends = d.text[:0], d.ends[:0]
	return err
}
