// Package top draws what a cluster does in a terminal, for people who watch it: what is wrong, tables of limits, keys, nodes and gateways, and
// a bucket on its line. It has no clock, terminal or connection: it is told what there is, which keys are pressed and how large
// the screen is, and answers with the text of a screen. Text of others in it cannot steer a terminal.
//
// Start with [New].
package top

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// Config says what a Screen shows at first.
type Config struct {
	// Options are of the first table. By and Sort are required.
	Options Options
	// Every is how often the cluster is asked, to say so.
	Every time.Duration
	// Limit and Key are of a bucket that is shown in place of the tables; empty for none.
	Limit, Key string
}

// A Screen is what a person sees of a cluster, and where in it they are. It does nothing by itself: it is told what there is to show, which
// keys are pressed and how late it is, and is drawn by [Screen.Frame].
type Screen struct {
	cfg           Config
	width, height int

	view   *activity.View // the last one; nil before it
	totals []float64      // decisions a second, the last ones, the newest last
	inside *limit.Inspection
	found  *Found

	silent map[string]time.Time // since when nodes have not told what they do, by name

	now    time.Time
	heard  time.Time // when it was told something last
	failed string    // why it was not since; empty: it was
	bucket string    // why the bucket that is open cannot be shown; empty: it can

	options Options // of the table
	opened  []place // above the table, the last one is shown
	cursor  cursor  // of the table
	typing  bool    // the filter
	help    bool
}

// maxTotals is how many values the sparkline keeps.
const maxTotals = 600

// A place is what was opened: one thing at a time, by what it is.
type place struct {
	what   string // one of Tables, for one row of it; or bucketPlace or problemsPlace
	name   string // of the limit, key, node or gateway
	limits []string
	at     int // which of limits, for a bucket
	cursor cursor
	filter string // of the keys of a limit
}

const (
	bucketPlace   = "bucket"
	problemsPlace = "problems"
)

// A cursor is where in a list a person is: at a row, which it follows when the order changes.
type cursor struct {
	row  string // its name; empty is the first
	at   int    // where it was
	from int    // the first row that is seen
	side int    // how many cells are left out at the left
}

// New makes a Screen that has nothing to show yet.
func New(cfg Config) *Screen {
	s := &Screen{cfg: cfg, options: cfg.Options, width: 80, height: 24}
	if cfg.Limit != "" {
		s.opened = []place{{what: bucketPlace, name: cfg.Key, limits: []string{cfg.Limit}}}
	}
	return s
}

// Resize says how large the terminal is.
func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// Tick says how late it is.
func (s *Screen) Tick(now time.Time) { s.now = now }

// Show gives the Screen what the cluster does.
func (s *Screen) Show(v *activity.View, now time.Time) {
	s.view, s.now, s.heard, s.failed = v, now, now, ""
	s.silent = silentSince(v, s.silent, now)
	if v.Seconds > 0 {
		s.totals = append(s.totals, v.Total.Allowed+v.Total.Denied+v.Total.FailedOpen+v.Total.FailedClosed)
		s.totals = s.totals[max(len(s.totals)-maxTotals, 0):]
	}
}

// Failed says why the cluster has not told what it does. What is shown stays.
func (s *Screen) Failed(err error, now time.Time) {
	if s.heard.IsZero() {
		s.heard = now
	}
	s.now, s.failed = now, err.Error()
}

// Bucket is one that a person looks at.
type Bucket struct{ Limit, Key string }

// Opened is the bucket that is looked at, for which ShowBucket is to be called; nil for none.
func (s *Screen) Opened() *Bucket {
	if p := s.place(); p != nil && p.what == bucketPlace {
		return &Bucket{p.limits[p.at], p.name}
	}
	return nil
}

// ShowBucket gives the Screen a bucket, or says why it cannot be had. One that is not looked at any more is left out.
func (s *Screen) ShowBucket(b Bucket, in *limit.Inspection, err error, now time.Time) {
	if opened := s.Opened(); opened == nil || *opened != b {
		return
	}
	if s.now = now; err != nil {
		s.bucket = err.Error()
		return
	}
	s.inside, s.bucket, s.heard = in, "", now
}

// A Search is for keys that begin with a prefix, of one limit or, without a name, of all.
type Search struct{ Prefix, Limit string }

// Found is what a search has found.
type Found struct {
	Search   Search
	Keys     []activity.Key
	Complete bool     // there are no others
	Silent   []string // nodes that have not answered
	Error    string
}

// Searched is what is looked for in the cluster: what the filter of a table of keys says, which ShowFound is to answer; nil for nothing.
func (s *Screen) Searched() *Search {
	p := s.place()
	switch {
	case s.typing || s.help:
	case p == nil && s.options.By == Keys && s.options.Filter != "":
		return &Search{Prefix: s.options.Filter}
	case p != nil && p.what == Limits && p.filter != "":
		return &Search{Prefix: p.filter, Limit: p.name}
	}
	return nil
}

// ShowFound gives the Screen what a search has found. One that is not asked for any more is left out.
func (s *Screen) ShowFound(f *Found, now time.Time) {
	if asked := s.Searched(); asked != nil && *asked == f.Search {
		s.found, s.now = f, now
	}
}

// place is what is open above the table; nil for nothing.
func (s *Screen) place() *place {
	if len(s.opened) == 0 {
		return nil
	}
	return &s.opened[len(s.opened)-1]
}

// lists says whether a list is on the screen, and not text.
func (s *Screen) lists() bool {
	p := s.place()
	return !s.help && s.view != nil && (p == nil || p.what == Limits)
}

// alone says whether the Screen is of one bucket, without tables.
func (s *Screen) alone() bool { return s.cfg.Limit != "" }

// silentSince is since when nodes have been silent.
func silentSince(v *activity.View, before map[string]time.Time, now time.Time) map[string]time.Time {
	silent := map[string]time.Time{}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Error == "" {
			continue
		}
		silent[n.Name] = now
		if since, was := before[n.Name]; was {
			silent[n.Name] = since
		}
	}
	return silent
}
