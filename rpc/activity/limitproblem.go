package activity

import (
	"fmt"
	"strconv"
)

// From when on something counts as a problem.
const (
	nearlyUsed = 0.9  // of a bucket
	spikeRate  = 10   // denials a second
	spikeShare = 0.2  // of decisions
	spikeTimes = 3    // as many as since the start
	enoughSaid = 1000 // decisions since the start, to know what is usual
)

// denials finds limits that deny much more than they used to.
func (f *finder) denials() {
	usual := map[string]Counts{}
	for i := range f.before.Nodes {
		for name, c := range f.before.Nodes[i].Limits {
			u := usual[name]
			usual[name] = Counts{Allowed: u.Allowed + c.Allowed, Denied: u.Denied + c.Denied}
		}
	}
	for i := range f.view.Limits {
		l := &f.view.Limits[i]
		all := usual[l.Name].Allowed + usual[l.Name].Denied
		if all < enoughSaid || l.Denied < spikeRate || l.DeniedShare < spikeShare {
			continue
		}
		before := usual[l.Name].Denied / all
		if l.DeniedShare < spikeTimes*before {
			continue
		}
		f.say(Problem{
			Severity: Warning, What: fmt.Sprintf("limit %s denies %.0f %% of its checks, and %.1f %% since its nodes started", l.Name, 100*l.DeniedShare, 100*before), More: whatIsWrong,
			Do: "See which keys it denies: it is one client that floods, or a limit that has just been made too strict (jeton limits history).",
		})
	}
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
		Severity: Notice, What: plural(len(names), "a key is hot: ", "some keys are hot: ") + few(names), More: hotKeys,
		Do: "One key is decided by one node. If that node has much to do, lease the limit (consistency: leased), or deny the key with jeton bucket --block.",
	})
}

// nearlyUsed finds limits of which a busy key has used nearly all and none is denied yet.
func (f *finder) nearlyUsed() {
	for i := range f.view.Limits {
		l := &f.view.Limits[i]
		if l.Used < nearlyUsed || l.Denied > 0 {
			continue
		}
		f.say(Problem{
			Severity: Notice, What: fmt.Sprintf("limit %s is nearly used up: %.0f %% of the bucket of a busy key", l.Name, 100*l.Used), More: whatIsWrong,
			Do: "Nothing, if the client is to be limited. If not, give the limit more capacity or the key an override.",
		})
	}
}
