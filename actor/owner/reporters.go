package owner

import (
	"cmp"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A reporter is an edge that has reported what it spent of a bucket.
type reporter struct {
	edge   uint64
	number uint64  // the highest one of its reports
	at     int64   // when the last one came
	asked  float64 // how much line it was asked for lately, in nanoseconds, as of at: tokens of plans differ in size
}

// reporters are the edges that have reported what they spent of a bucket. They say how much of what is left each of them may take, and which report was charged
// already. They decide nothing about the line, and are lost with the owner.
type reporters struct{ all []reporter }

const (
	// maxReporters is how many edges of a bucket are remembered: of more, the one that has reported nothing for longest is forgotten.
	maxReporters = 256
	// reportersFor is how long each of them is remembered after its last report, and reportersForMost how long while the bucket is not full.
	reportersFor, reportersForMost = int64(10e9), int64(300e9)
	// askedOver is over how many times between two reports it is smoothed what edges are asked for. Who has reported nothing for longer is taken for new.
	askedOver = 4
)

// last is the highest number of a report of an edge, 0 for none.
func (rs *reporters) last(edge uint64) uint64 {
	if rs == nil {
		return 0
	}
	for i := range rs.all {
		if rs.all[i].edge == edge {
			return rs.all[i].number
		}
	}
	return 0
}

// until is until when they are remembered, of a bucket that is full at full; 0 for none.
func (rs *reporters) until(full int64) int64 {
	if rs == nil {
		return 0
	}
	last := int64(0)
	for i := range rs.all {
		last = max(last, rs.all[i].at)
	}
	return min(max(full, last+reportersFor), last+reportersForMost)
}

// forget forgets who has long been silent at now, of a bucket that is full or not.
func (rs *reporters) forget(now int64, full bool) {
	if rs == nil {
		return
	}
	longest := reportersForMost
	if full {
		longest = reportersFor
	}
	rs.all = slices.DeleteFunc(rs.all, func(r reporter) bool { return now-r.at > longest })
}

// note notes a report of a bucket of rule that came at now, and says which share of what is left its edge may take: what it was asked for of what all were. Of one that has
// reported nothing lately that is not known: it may take as much as each of all that are remembered. Asked is how much line all were asked for, as a part of what time brings.
func (rs *reporters) note(p *limit.Report, now int64, rule *limit.Rule) (share int64, asked float64) {
	over := askedOver * int64(rule.Reports())
	r := rs.of(p.Edge)
	lately := r.number != 0 && now-r.at <= over
	if r.number < p.Number {
		most := float64(rule.Capacity)*rule.PerToken() + float64(over) // more is nothing that the edge could have: so a flood, or a lie, is soon over
		r.asked = min(r.asked*faded(now-r.at, over)+float64(p.Asked)*rule.PerToken(), most)
	}
	r.number, r.at = max(p.Number, r.number), max(now, r.at)
	for i := range rs.all {
		asked += rs.all[i].asked * faded(now-rs.all[i].at, over)
	}
	part := 1 / float64(len(rs.all))
	if lately && asked > 0 {
		part = r.asked / asked
	}
	return int64(math.Ceil(min(part, 1) * limit.ShareWhole)), asked / float64(over)
}

// of is an edge among them. A new one takes the place of the one that has been silent for longest, if there is no other.
func (rs *reporters) of(edge uint64) *reporter {
	for i := range rs.all {
		if rs.all[i].edge == edge {
			return &rs.all[i]
		}
	}
	if len(rs.all) < maxReporters {
		rs.all = append(rs.all, reporter{edge: edge})
		return &rs.all[len(rs.all)-1]
	}
	oldest := slices.MinFunc(rs.all, func(a, b reporter) int { return cmp.Compare(a.at, b.at) })
	i := slices.Index(rs.all, oldest)
	rs.all[i] = reporter{edge: edge}
	return &rs.all[i]
}

// faded is what is left of what was counted so long ago, smoothed over that time.
func faded(ago, over int64) float64 { return math.Exp(-float64(max(ago, 0)) / float64(over)) }
