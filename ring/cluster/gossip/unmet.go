package gossip

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// An unmetAddress is why no node could be met at a gossip address.
type unmetAddress struct {
	cause  string // what memberlist met
	speaks string // what the address speaks instead of gossip; empty where it may be gossip
	key    bool   // the node there has another cluster key, or none
	asked  bool   // what it speaks
}

// String is why in words.
func (u unmetAddress) String() string {
	switch {
	case u.speaks != "":
		return "speaks " + u.speaks + ", not gossip"
	case u.key:
		return "has another cluster key, or none"
	}
	return u.cause
}

// unmets are the addresses at which no node could be met when this node tried last.
type unmets struct {
	mu sync.Mutex
	at map[string]unmetAddress
}

func (u *unmets) of(address string) (why unmetAddress, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	why, known = u.at[address]
	return why, known
}

func (u *unmets) note(address string, why unmetAddress) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil || len(u.at) >= 1000 {
		u.at = map[string]unmetAddress{}
	}
	u.at[address] = why
}

func (u *unmets) over(address string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.at, address)
}

// list names the addresses, each with why; empty for none.
func (u *unmets) list() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []string
	for _, address := range slices.Sorted(maps.Keys(u.at)) {
		all = append(all, address+" "+u.at[address].String())
	}
	return strings.Join(all, ", ")
}

// noteUnmet notes and logs that no node could be met at an address. What the address speaks is looked at once, and again after it has
// begun or ceased to answer.
func (g *Gossip) noteUnmet(address string, err error) {
	if why, found := foreign(err); found { // logged already, see keepOutLocked
		g.unmets.note(address, unmetAddress{cause: "is a node that cannot be in the same cluster: " + why})
		return
	}
	before, known := g.unmets.of(address)
	now := unmetAddress{cause: lastCause(err), key: isOtherKey(err.Error())}
	answersStill := known && answers(before.cause) && answers(now.cause)
	if answersStill || now.cause == before.cause {
		now.speaks, now.asked = before.speaks, before.asked
	}
	// A node with a key takes the question for a stranger's message, and logs that. So only an address that answered in another way,
	// twice in a row, is asked, and not a node that merely starts late.
	foreign := g.config.Key == nil || now.key || answersStill
	if foreign && !now.asked && g.config.Speaks != nil {
		now.speaks, now.asked = g.config.Speaks(context.Background(), address), true
	}
	g.unmets.note(address, now)
	switch {
	case now.speaks != "" && now.speaks != before.speaks:
		g.logger.Warn("a --join address does not speak gossip: give the --listen-gossip address of a node, port 7701 by default", "address", address, "speaks", now.speaks)
	case now.speaks != "":
	case now.key:
		g.otherKey(err.Error(), address)
	case !known:
		g.logger.Info("no node answers at this gossip address yet; this node keeps trying", "address", address, "why", now.cause)
	}
}

// foreign is why this node keeps out the node that it has met, if that is what an error of memberlist means.
func foreign(err error) (why string, found bool) {
	_, why, found = strings.Cut(strings.Join(strings.Fields(err.Error()), " "), message.ErrForeign.Error()+": ")
	return why, found
}

// answers says whether a process accepted the connection that failed for that cause.
func answers(cause string) bool {
	return !strings.Contains(cause, "refused") && !strings.Contains(cause, "timeout") && !strings.Contains(cause, "no route")
}

// lastCause is the end of a chain of reasons that memberlist gives, in one line.
func lastCause(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

// Unmet names the addresses at which no node could be met when this node tried last, each with why; empty for none.
func (g *Gossip) Unmet() string { return g.unmets.list() }
