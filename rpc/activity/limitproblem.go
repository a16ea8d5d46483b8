package activity

import (
	"fmt"
	"strconv"

	"github.com/jeton-dev/jeton/internal/plain"
)

// denials finds limits that deny much more than they used to. What gateways repeat depends on who asks them: only what nodes decide is compared with
// what they decided before.
func (f *finder) denials() {
	usual, now := map[string]Counts{}, map[string]Counts{}
	for i := range f.before.Nodes {
		addDecisions(usual, f.before.Nodes[i].Limits, nil)
	}
	for i := range f.after.Nodes {
		n := &f.after.Nodes[i]
		if was := f.before.same(n); was != nil {
			addDecisions(now, n.Limits, was.Limits)
		}
	}
	for i := range f.view.Limits {
		l := &f.view.Limits[i]
		if usual[l.Name].decisions() < EnoughSaid || l.Denied < SpikeRate || l.DeniedShare < SpikeShare {
			continue
		}
		share, before := now[l.Name].deniedShare(), usual[l.Name].deniedShare()
		if share == 0 || share < SpikeTimes*before {
			continue
		}
		f.say(Problem{
			Severity: Warning, What: fmt.Sprintf("limit %s denies %.0f %% of its checks at nodes, and %.1f %% since they started", l.Name, 100*share, 100*before), More: whatIsWrong,
			Do: "See which keys it denies: it is one client that floods, or a limit that has just been made too strict (jeton limits history).",
		})
	}
}

// addDecisions adds what limits have said since they had said was.
func addDecisions(into, limits, was map[string]Counts) {
	for name, c := range limits {
		sum := into[name]
		sum.Allowed += max(0, c.Allowed-was[name].Allowed)
		sum.Denied += max(0, c.Denied-was[name].Denied)
		into[name] = sum
	}
}

func (c Counts) decisions() float64 { return c.Allowed + c.Denied }

// deniedShare is 0 where nothing was decided.
func (c Counts) deniedShare() float64 {
	if c.Denied == 0 {
		return 0
	}
	return c.Denied / c.decisions()
}

// hot finds keys that have a large part of a node's checks.
func (f *finder) hot() {
	var names []string
	for i := range f.view.Keys {
		if k := &f.view.Keys[i]; k.Hot {
			names = append(names, strconv.Quote(k.Key))
		}
	}
	if len(names) == 0 {
		return
	}
	f.say(Problem{
		Severity: Notice, What: plain.Plural(len(names), "a key is hot: ", "some keys are hot: ") + few(names), More: hotKeys,
		Do: "One key is decided by one node. If that node has much to do, lease the limit (consistency: leased), or deny the key with jeton bucket --block.",
	})
}

// NearlyUsed finds limits of which a busy key has used nearly all and none is denied yet.
func (f *finder) nearlyUsed() {
	for i := range f.view.Limits {
		l := &f.view.Limits[i]
		if l.Used < NearlyUsed || l.Denied > 0 {
			continue
		}
		f.say(Problem{
			Severity: Notice, What: fmt.Sprintf("limit %s is nearly used up: %.0f %% of the bucket of a busy key", l.Name, 100*l.Used), More: whatIsWrong,
			Do: "Nothing, if the client is to be limited. If not, give the limit more capacity or the key an override.",
		})
	}
}
