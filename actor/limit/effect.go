package limit

import (
	"cmp"
	"fmt"
	"time"
)

// An Effect says in words what the change of a limit does to its buckets.
type Effect struct{ Limit, Text string }

// Effects says in words what happens to the buckets of a limit that was before and is after: nil before for a limit that is new,
// nil after for one that is removed. There is nothing to say where nothing changes that buckets depend on.
func Effects(before, after *Rule) []string {
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil:
		return []string{"new: a key's bucket begins full; if a limit of this name was removed not long ago, what was spent under it still counts"}
	case after == nil:
		return append([]string{"removed: checks that name it fail from now on; what buckets hold is forgotten as time passes"}, ofUnseen(before)...)
	case before.alike(after):
		return nil
	}
	var said []string
	switch {
	case before.Register() != after.Register():
		said = []string{"another kind of bucket: every key's bucket begins full; what was spent before counts no more, and its receipts cannot be returned"}
	case before.Capacity == after.Capacity && before.Refill == after.Refill:
		said = []string{"buckets stay as they are"}
	case after.Counts():
		said = ofEntries(after)
	case after.Algorithm == TokenBucket:
		said = ofTokens(before, after)
	default:
		said = ofWindows(after)
	}
	if before.MaxWait != after.MaxWait {
		said = append(said, ofWaits(after))
	}
	if before.Holds != after.Holds || before.Holds.Longest != 0 && before.Register() != after.Register() {
		said = append(said, ofHolds(before, after))
	}
	if before.Reserve != after.Reserve && (before.exact != after.exact || before.spare != after.spare) {
		said = append(said, ofReserve(after))
	}
	if before.Penalty != after.Penalty {
		said = append(said, ofPenalty(after))
	}
	if before.Consistency != after.Consistency {
		said = append(said, ofConsistency(after))
	}
	if before.Hot != after.Hot {
		said = append(said, ofHot(after))
	}
	if before.OnUnavailable != after.OnUnavailable {
		said = append(said, "gateways go by "+string(after.OnUnavailable)+" when there is no decision")
	}
	return append(said, ofUnseen(before)...)
}

// ofUnseen says of a limit that is local that nobody knows here whether it is in use.
func ofUnseen(before *Rule) []string {
	if before.Consistency != OfEdge {
		return nil
	}
	return []string{"its buckets are at gateways and clients, which ask no node: it may be in use, though no node counts checks of it"}
}

const oldReceipts = "receipts of before cannot be returned any more"

// ofTokens is what other numbers do to token buckets.
func ofTokens(before, after *Rule) []string {
	said := []string{
		"buckets keep their debt in time: each is full again when it would have been",
		fmt.Sprintf("from now on at most %d at once, then %s; %s", after.Capacity, after.Refill, ofEmpty(before, after)),
	}
	if after.reach < before.reach {
		said = append(said, "what owners have reserved beyond the new reach is given up; what they hold within it may still be spent once")
	}
	return append(said, oldReceipts)
}

// ofWindows is what another limit does to windows of the same shape.
func ofWindows(after *Rule) []string {
	return []string{
		"the share of the present window that is spent stays spent: half stays half",
		fmt.Sprintf("from the next window on at most %d in each", after.Capacity),
		oldReceipts,
	}
}

// ofEntries is what another limit does to what counts.
func ofEntries(after *Rule) []string {
	said := []string{"what was admitted counts on, until its time is over"}
	if _, queue := after.counting.(countedBucket); queue {
		said = []string{"buckets keep their debt in time: each is full again when it would have been"}
	}
	said = append(said,
		fmt.Sprintf("from now on checks are admitted while at most %d count", after.Capacity))
	if after.Permits() {
		return append(said, "permits of before can be returned and extended")
	}
	return append(said, oldReceipts)
}

// ofWaits is what another wait does.
func ofWaits(after *Rule) string {
	if after.MaxWait == 0 {
		return "checks that ask to wait are refused, and gateways ask without a wait; those that wait now begin at their times"
	}
	return fmt.Sprintf("checks may wait for tokens up to %s, and gateways ask for no longer; those that wait now begin at their times", durationText(after.MaxWait))
}

// ofEmpty is what becomes of a bucket that was empty at the moment of the change.
func ofEmpty(before, after *Rule) string {
	const moment = 0 // any
	tat := after.Carry(before, before.Bound(moment))
	one := after.End(tat, moment, after.Length(1))
	if tokens := after.Tokens(tat, moment); tokens > 0 {
		return fmt.Sprintf("an empty bucket has %d at once", tokens)
	}
	return fmt.Sprintf("an empty bucket has its next token after %v", readable(after.Wait(one, moment)))
}

// readable is a duration rounded up to three digits or so, for people.
func readable(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 100*unit {
			return (d + unit - 1).Truncate(unit)
		}
	}
	return d
}

// ofPenalty is what another penalty does to buckets in use.
func ofPenalty(after *Rule) string {
	p := after.Penalty
	if p == (Penalty{}) {
		return "denials close buckets no more; those that are closed are open"
	}
	return fmt.Sprintf("%d denials in a row close a bucket for %s, and at most %s; those that are closed stay so until their time",
		p.After, durationText(p.For), durationText(p.Max))
}

// ofHolds is what other terms of holds do.
func ofHolds(before, after *Rule) string {
	said, open := "new holds are refused", "; those that are open can be settled"
	if h := after.Holds; h.Longest != 0 {
		said = fmt.Sprintf("holds last up to %s, and a new one that expires is %s",
			durationText(h.Longest), map[Expiry]string{Charge: "charged", Free: "freed"}[cmp.Or(h.OnExpiry, Charge)])
		open = "; those that are open keep their times"
	}
	switch {
	case before.Register() == after.Register():
		return said + open
	case before.Holds.Longest != 0:
		return said + "; those that are open can be settled no more"
	}
	return said
}

// ofReserve is what another reserve does.
func ofReserve(after *Rule) string {
	if after.spare == 0 {
		return "owners take nothing beyond what checks need; what they have taken may still be spent"
	}
	return fmt.Sprintf("owners take up to %d tokens of a bucket beyond what checks need", after.spare)
}

// ofHot is what other words about hot keys do.
func ofHot(after *Rule) string {
	if after.LeasedWhenHot() {
		return "gateways and clients take tokens of hot keys ahead, and decide by themselves with what they hold"
	}
	return "owners decide every check of hot keys; what gateways and clients hold is void within a second or so"
}

// ofConsistency is what another consistency does.
func ofConsistency(after *Rule) string {
	switch after.Consistency {
	case Leased:
		return "gateways and clients take tokens ahead, and decide by themselves with what they hold"
	case Eventual:
		return fmt.Sprintf("gateways and clients decide by what they last heard, and tell the owner every %s: more may be admitted than the limit says", durationText(after.Reports()))
	case OfEdge:
		return "each gateway and each client decides by a bucket of its own, and asks no node"
	case Strong:
	}
	return "owners decide every check; what gateways and clients hold is void within a second or so"
}
