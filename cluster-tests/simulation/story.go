package simulation

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// noKey is for what concerns all keys.
const noKey = -1

// plain is where plain counts begin: beyond all positions, so that a register of a lower one counts as nothing.
const plain = int64(1) << 61

// A story tells what happens in a world, a line for each thing.
type story struct {
	to  io.Writer
	key int // of which it tells, besides what concerns all; noKey for every key
}

// say tells something that concerns a key, or all.
func (w *World) say(key int, format string, args ...any) {
	if w.story == nil || key != noKey && w.story.key != noKey && key != w.story.key {
		return
	}
	fmt.Fprintf(w.story.to, "%s %s\n", w.clockTime(w.now), fmt.Sprintf(format, args...))
}

// A Violation is a promise that was broken.
type Violation struct {
	After time.Duration // since the beginning of the world
	What  string
	key   int
	after bool // all faults had ended
}

// violate notes the first promise that is broken, which ends the world.
func (w *World) violate(key int, format string, args ...any) {
	if w.violation != nil {
		return
	}
	w.violation = &Violation{After: time.Duration(w.now - origin), What: fmt.Sprintf(format, args...), key: key, after: w.healed != 0}
	w.say(key, "WRONG: %s", w.violation.What)
}

// clockTime is a time, or a position on the line, since the beginning of the world.
func (w *World) clockTime(t int64) string {
	if t == 0 {
		return "0s"
	}
	if t > plain {
		return fmt.Sprintf("no. %d", t-plain)
	}
	return seconds(t - origin)
}

// seconds are nanoseconds as people read them.
func seconds(ns int64) string {
	text := fmt.Sprintf("%.9f", float64(ns)/1e9)
	if ns%1000 == 0 {
		text = text[:len(text)-3]
	}
	if ns%ms == 0 {
		text = text[:len(text)-3]
	}
	return text + "s"
}

func (w *World) span(from, to int64) string {
	return "(" + w.clockTime(from) + ", " + w.clockTime(to) + "]"
}

func (w *World) inGeneration(g int64) string {
	if g == 0 {
		return ""
	}
	return " in generation " + w.clockTime(g)
}

func (w *World) reusing(r limit.Receipt) string {
	if len(r.Reuses) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(", and reuses")
	for _, s := range r.Reuses {
		b.WriteString(" " + w.span(s.Start, s.End))
	}
	return b.String()
}

func nodeName(slot int) string { return fmt.Sprintf("node-%d", slot+1) }

func ownerName(id limit.OwnerID) string {
	return fmt.Sprintf("%c%d", 'A'+id[0]-1, int(id[1])<<8|int(id[2]))
}

// nameAll are nodes, with how many disks each has had if it is not the first.
func (w *World) nameAll(ids []ring.NodeID) string {
	var names []string
	for _, id := range ids {
		name := nodeName(int(id[0]) - 1)
		if disk := int(id[1])<<8 | int(id[2]); disk > 1 {
			name += fmt.Sprintf(" (disk %d)", disk)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// names are the nodes of a mask.
func names(mask uint) string {
	var list []string
	for slot := range maxSlots {
		if mask>>slot&1 == 1 {
			list = append(list, nodeName(slot))
		}
	}
	return strings.Join(list, ", ")
}

func verdictName(v register.Verdict) string {
	return [...]string{
		"nothing", "accepted", "the line is taken", "it is of an old generation", "it is of another epoch", "its epoch is sealed",
		"the clocks differ", "it reaches too far ahead", "it keeps too many",
	}[v]
}

// String is the call as people read it.
func (c *call) String() string {
	var on []string
	for _, l := range c.limits {
		on = append(on, c.w.bucketName(c.key, l))
	}
	switch c.what {
	case settles:
		return fmt.Sprintf("settlement %d of %d %% of hold %d of %s, open: %v", c.id, c.share, c.of.id, strings.Join(on, " and "), c.open)
	case checks:
		if c.holdFor > 0 {
			return fmt.Sprintf("hold %d of %d, at least %d, from %s for %s", c.id, c.cost, max(c.least, 0), strings.Join(on, " and "), seconds(c.holdFor))
		}
		if c.delay > 0 {
			return fmt.Sprintf("check %d of %d from %s, which waits up to %s", c.id, c.cost, strings.Join(on, " and "), seconds(c.delay))
		}
		return fmt.Sprintf("check %d of %d from %s", c.id, c.cost, strings.Join(on, " and "))
	case resets:
		return fmt.Sprintf("reset %d of %s", c.id, strings.Join(on, " and "))
	case extends:
		return fmt.Sprintf("extension %d of %s", c.id, strings.Join(on, " and "))
	case leases:
		return fmt.Sprintf("lease %d of %d, at least %d, of %s for edge %d", c.id, c.cost, c.least, strings.Join(on, " and "), c.asks.edge)
	case gives, spends, kills, shifts:
	}
	return fmt.Sprintf("return %d", c.id)
}

// describe is an item as people read it.
func (w *World) describe(i *item) string { //nolint:funlen // one switch
	name, last := nodeName(i.slot), time.Duration(i.last).Round(time.Millisecond)
	switch i.kind {
	case crashes:
		if i.wait {
			return fmt.Sprintf("%s is about to crash during a write, for %v", name, last)
		}
		return fmt.Sprintf("%s crashes, for %v", name, last)
	case crashesMany:
		if i.wait {
			return fmt.Sprintf("%s are about to crash during a write", names(i.mask))
		}
		return fmt.Sprintf("%s crash together", names(i.mask))
	case flaps:
		return fmt.Sprintf("%s crashes whenever it decides, for %v", name, last)
	case stops:
		return fmt.Sprintf("%s is stopped cleanly, for %v", name, last)
	case freezes:
		return fmt.Sprintf("%s freezes for %v", name, last)
	case suspends:
		return fmt.Sprintf("%s is suspended for %v, its clock too", name, last)
	case splits:
		return fmt.Sprintf("%s are cut off from the other nodes for %v (from callers too: %v)", names(i.mask), last, i.value == 1)
	case splitsOneWay:
		return fmt.Sprintf("messages from %s to others of %s are lost for %v", name, names(i.mask), last)
	case isolates:
		return fmt.Sprintf("%s is cut off from the other nodes, but not from callers, for %v", name, last)
	case strands:
		return fmt.Sprintf("%s is cut off from the other nodes for %v, and hears of what is agreed after twice as long", name, last)
	case hides:
		return fmt.Sprintf("%s is cut off from callers for %v", name, last)
	case deafens:
		return fmt.Sprintf("%s hear nothing of what is agreed for %v", names(i.mask), last)
	case silences:
		return fmt.Sprintf("nothing can be agreed, for %v", last)
	case jumps:
		return fmt.Sprintf("the clock of %s jumps by %s", name, seconds(i.value))
	case drifts:
		return fmt.Sprintf("the clock of %s drifts by %d ppm for %v", name, i.value, last)
	case loses:
		return name + " loses its disk"
	case copies:
		return "the disk of " + name + " is copied"
	case restores:
		return name + " crashes, and gets the copy of its disk back"
	case slows:
		return fmt.Sprintf("the disk of %s is slow for %v", name, last)
	case joins:
		return "the members change to " + names(i.mask)
	case rules:
		return fmt.Sprintf("the limits change to version %d", i.value)
	case drives:
		return name + " believes that it is the leader"
	case fills:
		return fmt.Sprintf("the disk of %s is full for %s", name, seconds(i.last))
	case ruins:
		return "a majority is lost permanently"
	case floods:
		return "callers send checks of many invented keys"
	case asksFor, kinds:
	}
	return "a call"
}
