package ring

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jeton-dev/jeton/internal/plain"
)

// A Deciding says for which keys a node can get decisions, from itself or from another node.
type Deciding struct {
	Verdict Verdict `json:"decides"` // all, some or none
	// Undecided is how many of the partitions no node can decide, and First are the first few of them.
	Undecided  int         `json:"undecided_partitions"`
	Partitions int         `json:"partitions"`
	First      []Partition `json:"first_undecided,omitempty"`
	// Endangered is how many others have lost replicas, and could not be decided if they lost one more.
	Endangered int `json:"endangered_partitions,omitempty"`
	// Silent are the names of their replicas that do not answer, and Refusing those that answer but accept no reservations.
	Silent   []string `json:"silent,omitempty"`
	Refusing []string `json:"refusing,omitempty"`
	// Why is the reason in words; empty while every key can be decided.
	Why string `json:"why,omitempty"`
}

// String is a sentence for logs and terminals.
func (d Deciding) String() string {
	switch d.Verdict {
	case DecidesAll:
		return "every key can be decided"
	case DecidesSome:
		return fmt.Sprintf("%d of %d partitions cannot be decided: %s", d.Undecided, d.Partitions, d.Why)
	case DecidesNone:
	}
	return "no key can be decided: " + d.Why
}

// Degraded says which partitions cannot be decided, if others can; otherwise it is empty.
func (d Deciding) Degraded() string {
	if d.Verdict != DecidesSome {
		return ""
	}
	var first []string
	for _, p := range d.First {
		first = append(first, strconv.Itoa(int(p)))
	}
	more := ""
	if d.Undecided > len(first) {
		more = ", …"
	}
	return fmt.Sprintf("partitions %s%s (%d of %d) cannot be decided: %s", strings.Join(first, ", "), more, d.Undecided, d.Partitions, d.Why)
}

// Explain sets Why, for a cluster of that many nodes.
func (d *Deciding) Explain(nodes int) { d.Why = d.why(nodes) }

func (d *Deciding) why(nodes int) string {
	switch {
	case d.Verdict == DecidesAll:
		return ""
	case d.Partitions == 0:
		return "this node has not heard from its cluster yet"
	case len(d.Silent)+len(d.Refusing) == 0:
		return "their replicas do not hear one another"
	}
	var whys []string
	switch n := len(d.Silent); {
	case n == 0:
	case d.Verdict == DecidesNone:
		whys = append(whys, fmt.Sprintf("%d of %d nodes %s not answer: %s", n, nodes, plain.Plural(n, "does", "do"), list(d.Silent)))
	default:
		whys = append(whys, fmt.Sprintf("%s %s %s not answer", plain.Plural(n, "replica", "replicas"), list(d.Silent), plain.Plural(n, "does", "do")))
	}
	if n := len(d.Refusing); n > 0 {
		whys = append(whys, fmt.Sprintf("%s %s %s no reservations", plain.Plural(n, "replica", "replicas"), list(d.Refusing), plain.Plural(n, "takes", "take")))
	}
	return strings.Join(whys, "; ")
}

// list joins names with commas and "and".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
