package debug

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/internal/plain"
)

// WriteOverview shows what the actors are doing, for people.
func WriteOverview(w io.Writer, o actor.Overview) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	writeChecked(table, o)
	fmt.Fprintf(table, "\n%d keys awake, %d checks waiting in their mailboxes\n\n", o.Awake, o.Waiting)
	fmt.Fprintln(table, "shard\tawake\twaiting\tinbox")
	for i, s := range o.Shards {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\n", i, s.Awake, s.Waiting, s.Inbox)
	}
	fmt.Fprintln(table, "\nbusiest key\ttokens/s\twaiting\tlimits")
	for _, b := range o.Busiest {
		_ = plain.Fprintf(table, "%s\t%.1f\t%d\t%s\n", strconv.Quote(b.Key), b.PerSecond, b.Waiting, strings.Join(b.Limits, ", "))
	}
	if len(o.Busiest) == 0 {
		fmt.Fprintln(table, "none in the last tenth of a second")
	}
	writeGauged(table, o.Gauged)
	return table.Flush()
}

// writeChecked lists the keys that had most checks of the last half second.
func writeChecked(table io.Writer, o actor.Overview) {
	fmt.Fprintf(table, "%.0f checks/s\n\n", o.PerSecond)
	fmt.Fprintln(table, "key checked most\tchecks/s\tshare\tdenied\tin metrics\tlimits")
	for i := range o.Checked {
		c := &o.Checked[i]
		label := "-"
		if c.Hot {
			label = "hot, " + strconv.Quote(c.Label)
		}
		_ = plain.Fprintf(table, "%s\t%.0f\t%.0f %%\t%.0f %%\t%s\t%s\n",
			strconv.Quote(c.Key), c.PerSecond, 100*c.Share, 100*c.Denied, label, strings.Join(c.Limits, ", "))
	}
	if len(o.Checked) == 0 {
		fmt.Fprintln(table, "none of 16 checks or more in the last half second")
	}
}

// writeGauged lists the buckets that metrics show.
func writeGauged(table io.Writer, gauged []actor.GaugedBucket) {
	if len(gauged) == 0 {
		return
	}
	fmt.Fprintln(table, "\nlimit with gauges\tbusy key\tused\tremaining\tin metrics")
	for i := range gauged {
		g := &gauged[i]
		_ = plain.Fprintf(table, "%s\t%s\t%.0f %%\t%d\t%s\n", g.Limit, strconv.Quote(g.Key), 100*g.Used, g.Remaining, strconv.Quote(g.Label))
	}
}

// overview is an [actor.Overview] as JSON has it.
type overview struct {
	PerSecond float64   `json:"checks_per_second"`
	Checked   []checked `json:"checked_most"` // the keys that had most checks of the last half second, the busiest first

	Awake   int     `json:"awake"`   // actors held in memory
	Waiting int     `json:"waiting"` // checks in their mailboxes
	Shards  []shard `json:"shards"`
	Busiest []busy  `json:"busiest"` // the highest demand first

	Gauged []gauged `json:"gauged"` // the buckets that metrics show, by limit, those of the busiest keys first
}

type shard struct {
	Awake   int `json:"awake"`
	Waiting int `json:"waiting"`
	Inbox   int `json:"inbox"` // checks not yet looked at
}

// checked is an [actor.CheckedKey] as JSON has it.
type checked struct {
	Key       string   `json:"key"`
	Label     string   `json:"in_metrics"` // the label of its metrics, if it is hot
	Limits    []string `json:"limits"`
	PerSecond float64  `json:"checks_per_second"`
	Share     float64  `json:"share"`
	Denied    float64  `json:"denied_share"`
	Hot       bool     `json:"hot"`
}

// gauged is an [actor.GaugedBucket] as JSON has it.
type gauged struct {
	Limit     string  `json:"limit"`
	Key       string  `json:"key"`
	Label     string  `json:"in_metrics"`
	Remaining int64   `json:"remaining"`
	Used      float64 `json:"used"` // 0 to 1
}

type busy struct {
	Key       string   `json:"key"`
	Limits    []string `json:"limits"`
	PerSecond float64  `json:"tokens_per_second"`
	Waiting   int      `json:"waiting"`
}

func newOverview(o actor.Overview) overview {
	out := overview{PerSecond: o.PerSecond, Checked: []checked{}, Awake: o.Awake, Waiting: o.Waiting, Shards: []shard{}, Busiest: []busy{}, Gauged: []gauged{}}
	for _, c := range o.Checked {
		out.Checked = append(out.Checked, checked(c))
	}
	for _, s := range o.Shards {
		out.Shards = append(out.Shards, shard(s))
	}
	for _, b := range o.Busiest {
		out.Busiest = append(out.Busiest, busy(b))
	}
	for _, g := range o.Gauged {
		out.Gauged = append(out.Gauged, gauged(g))
	}
	return out
}
