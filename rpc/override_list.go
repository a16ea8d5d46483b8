package rpc

import (
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/cluster"
)

// liveOf are the overrides in force that operators have set, by limit and key.
func liveOf(c *cluster.Cluster) []limit.Override {
	set := c.Overrides("")
	live := make([]limit.Override, len(set))
	for i, o := range set {
		live[i] = limit.Override{Limit: o.Limit, Key: o.Key, Says: o.Says}
	}
	return live
}

// maxPage is how many overrides one answer lists at most.
const maxPage = 1000

// An overridePage is some of the overrides in force, by limit and key, and after which one the next page begins; empty for the last page.
type overridePage struct {
	Overrides []cluster.OverrideStatus `json:"overrides"`
	Next      string                   `json:"next,omitempty"`
}

// overridesAfter are overrides in force, of one limit or, without a name, of all: those that operators have set, and those of the
// document for other keys. They begin after the one that the page before has named, or with the first. What changes between two pages
// may be missing; none is listed twice. The error is a *limit.FieldError.
func overridesAfter(c *cluster.Cluster, doc *limit.Document, name, after string) (overridePage, error) {
	first, err := newFirst(after)
	if err != nil {
		return overridePage{}, err
	}
	c.EachOverride(name, first.add)
	for _, rule := range doc.Rules() {
		if name != "" && name != rule.Name {
			continue
		}
		for _, o := range doc.Written(rule.Name) {
			if !c.Overridden(o.Limit, o.Key) {
				first.add(cluster.OverrideStatus{Limit: o.Limit, Key: o.Key, Says: o.Says, Document: true})
			}
		}
	}
	page := first.page()
	for i := range page.Overrides {
		o := &page.Overrides[i]
		o.NoEffect = doc.NoEffect(limit.Override{Limit: o.Limit, Key: o.Key, Says: o.Says})
	}
	return page, nil
}

// firstOverrides keeps the first of all overrides that come after one, without sorting all.
type firstOverrides struct {
	after cluster.OverrideStatus // the zero one comes before all others
	some  []cluster.OverrideStatus
	full  bool // some had more than a page, and the last of a page is known
	last  cluster.OverrideStatus
}

// newFirst is firstOverrides after the page that has named its next, or, without that, from the first on. The error is a *limit.FieldError.
func newFirst(after string) (*firstOverrides, error) {
	if after == "" {
		return &firstOverrides{}, nil
	}
	of, key, ok := strings.Cut(after, " ") // names of limits have no spaces
	if !ok {
		return nil, &limit.FieldError{Field: "after", Problem: limit.Quote(after) + " names no override: send what the page before has as next"}
	}
	return &firstOverrides{after: cluster.OverrideStatus{Limit: of, Key: key}}, nil
}

func (f *firstOverrides) add(o cluster.OverrideStatus) {
	if o.Compare(f.after) <= 0 || f.full && o.Compare(f.last) > 0 {
		return
	}
	if f.some = append(f.some, o); len(f.some) > 4*maxPage {
		f.cut()
	}
}

// cut keeps a page, and one more that says whether there is another page.
func (f *firstOverrides) cut() {
	slices.SortFunc(f.some, cluster.OverrideStatus.Compare)
	if len(f.some) > maxPage {
		f.some, f.full = f.some[:maxPage+1], true
		f.last = f.some[maxPage]
	}
}

func (f *firstOverrides) page() overridePage {
	f.cut()
	if !f.full {
		return overridePage{Overrides: append([]cluster.OverrideStatus{}, f.some...)}
	}
	last := f.some[maxPage-1]
	return overridePage{Overrides: f.some[:maxPage], Next: last.Limit + " " + last.Key}
}
