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
	fmt.Fprintf(table, "%d keys awake, %d checks waiting in their mailboxes\n\n", o.Awake, o.Waiting)
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
	return table.Flush()
}

// overview is an [actor.Overview] as JSON has it.
type overview struct {
	Awake   int     `json:"awake"`   // actors held in memory
	Waiting int     `json:"waiting"` // checks in their mailboxes
	Shards  []shard `json:"shards"`
	Busiest []busy  `json:"busiest"` // the highest demand first
}

type shard struct {
	Awake   int `json:"awake"`
	Waiting int `json:"waiting"`
	Inbox   int `json:"inbox"` // checks not yet looked at
}

type busy struct {
	Key       string   `json:"key"`
	Limits    []string `json:"limits"`
	PerSecond float64  `json:"tokens_per_second"`
	Waiting   int      `json:"waiting"`
}

func newOverview(o actor.Overview) overview {
	out := overview{Awake: o.Awake, Waiting: o.Waiting, Shards: []shard{}, Busiest: []busy{}}
	for _, s := range o.Shards {
		out.Shards = append(out.Shards, shard(s))
	}
	for _, b := range o.Busiest {
		out.Busiest = append(out.Busiest, busy(b))
	}
	return out
}
