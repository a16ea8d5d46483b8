package storage

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/storage/register"
)

// read finds a register in Pebble.
func (d *diskEngine) read(key []byte) (register.Register, bool, error) {
	if d.iter == nil {
		it, err := d.db.NewIter(&pebble.IterOptions{
			LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1},
			UseL6Filters: true, // most lookups are for new keys
		})
		if err != nil {
			return register.Register{}, false, fmt.Errorf("read registers: %w", err)
		}
		d.iter = it
	}
	if !d.iter.SeekPrefixGE(key) || !bytes.Equal(d.iter.Key(), key) {
		return register.Register{}, false, d.iter.Error()
	}
	r, err := register.Decode(d.iter.Value())
	if err != nil {
		return register.Register{}, false, fmt.Errorf("read register %q: %w", key, err)
	}
	return r, true, nil
}

// dropIter closes the iterator, because Pebble has changed since it was opened.
func (d *diskEngine) dropIter() error {
	if d.iter == nil {
		return nil
	}
	err := d.iter.Close()
	d.iter = nil
	return err
}
