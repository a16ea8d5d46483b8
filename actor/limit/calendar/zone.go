package calendar

import (
	"archive/zip"
	"bytes"
	_ "embed" // the zone data
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/internal/spelling"
)

// zoneData is the IANA time zone database, version 2025c, as Go 1.26 brings it in lib/time/zoneinfo.zip. It is part of the binary, so that
// all nodes of one release agree, whatever their machines have.
//
//go:embed zoneinfo.zip
var zoneData []byte

// A zone is a time zone of the database. There is one value for each name.
type zone struct {
	name     string
	location *time.Location
	fixed    bool // its clocks have not been changed in any window of 1970 or later, and will not be
	recent   [64]atomic.Pointer[run]
}

// A database has the zones that were asked for.
type database struct {
	mu    sync.Mutex
	files map[string]*zip.File // by name; nil before the first question
	names []string             // not changed after the first question, as small
	small []string             // the names in small letters, in the same order
	zones map[string]*zone
}

var zones database

// find is the zone with that name. An empty name is that of UTC.
func (d *database) find(name string) (*zone, error) {
	if name == "" {
		name = "UTC"
	}
	z, err := d.read(name)
	if z == nil && err == nil {
		return nil, d.unknown(name)
	}
	return z, err
}

// read is the zone with that name; nil if there is none.
func (d *database) read(name string) (*zone, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if z := d.zones[name]; z != nil {
		return z, nil
	}
	if err := d.openLocked(); err != nil {
		return nil, err
	}
	file := d.files[name]
	if file == nil {
		return nil, nil
	}
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	location, err := time.LoadLocationFromTZData(file.Name, data)
	if err != nil {
		return nil, err
	}
	_, end := time.Date(1967, time.January, 1, 0, 0, 0, 0, time.UTC).In(location).ZoneBounds()
	z := &zone{name: file.Name, location: location, fixed: end.IsZero()}
	d.zones[file.Name] = z
	return z, nil
}

// openLocked reads the table of contents, once.
func (d *database) openLocked() error {
	if d.files != nil {
		return nil
	}
	archive, err := zip.NewReader(bytes.NewReader(zoneData), int64(len(zoneData)))
	if err != nil {
		return fmt.Errorf("the embedded time zones: %w", err)
	}
	d.files, d.zones = make(map[string]*zip.File, len(archive.File)), map[string]*zone{}
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, "/") {
			d.files[file.Name] = file
			d.names = append(d.names, file.Name)
			d.small = append(d.small, strings.ToLower(file.Name))
		}
	}
	return nil
}

// unknown is the error of a name that is none, after the first question.
func (d *database) unknown(name string) error {
	problem := "is not the name of a time zone: use one of the IANA database, such as UTC or Europe/Berlin"
	if meant := d.meant(name); meant != "" {
		problem = fmt.Sprintf("is not the name of a time zone: did you mean %q?", meant)
	}
	return &Error{Field: "timezone", Value: name, Problem: problem}
}

// longestName is the length of names for which what was meant is looked for. Those of the database are about half as long.
const longestName = 64

// meant is the name that was probably meant by one that is none; empty if there is none.
func (d *database) meant(name string) string {
	if len(name) > longestName {
		return ""
	}
	meant, small := spelling.Near(name, d.names), strings.ToLower(name)
	for i, known := range d.small {
		if known == small || meant == "" && strings.HasSuffix(known, "/"+small) {
			meant = d.names[i]
		}
	}
	return meant
}

// A run is three windows in a row: from the i-th time to the next one each.
type run struct {
	per    string
	anchor anchor
	at     [4]int64
}

// offset is how far clocks of the zone are ahead of UTC, in seconds.
func (z *zone) offset(seconds int64) int64 {
	_, offset := time.Unix(seconds, 0).In(z.location).Zone()
	return int64(offset)
}

// first is the first moment at which clocks of the zone show that or more.
func (z *zone) first(shown int64) int64 {
	const (
		ahead   = 26 * int64(time.Hour/time.Second) // no clock is further ahead of UTC, or behind
		quarter = int64(15 * time.Minute / time.Second)
	)
	for at := shown - ahead; ; {
		moment := time.Unix(at, 0).In(z.location)
		_, offset := moment.Zone()
		_, end := moment.ZoneBounds()
		begins, until := max(at, shown-int64(offset)), end.Unix()
		if until <= at { // time.Time.ZoneBounds says so on the last day of a leap year
			until = at + quarter
		}
		if end.IsZero() || begins < until {
			return begins
		}
		at = until
	}
}
