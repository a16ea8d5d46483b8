package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Fault is something that happens to the cluster: a value that is drawn before the run begins, and then played. What it
// says of itself is enough to know what was done to whom.
type Fault interface {
	fmt.Stringer
	// Begin does it. It returns when it is done, or, of a fault that takes its time, when that is over.
	Begin(ctx context.Context, s *Stage) error
	// End undoes it, and returns when the nodes concerned serve again. An error, of either, means that the fault could
	// not be played, or that the cluster did not come back: the run has failed.
	End(ctx context.Context, s *Stage) error
}

// A Kind is a family of faults.
type Kind struct {
	// Name is one or a few words, in lower case.
	Name string
	// Weight is how often it is drawn, compared with the others.
	Weight int
	// Shortest and Longest are between which lengths it lasts, in a run that is long enough. Zero: over once it began.
	Shortest, Longest time.Duration
	// Recovery is about how long End takes, for planning only.
	Recovery time.Duration
	// Operators says that it takes no node away: it may happen at the same time as one that does.
	Operators bool
	// Gateways says that it takes gateways, and no node: such faults stand in a lane of their own.
	Gateways bool
	// Harmless says that decisions stay exact: it is no excuse for a check that was denied.
	Harmless bool
	// Majority says that no quorum is left while it lasts: checks fail, and must.
	Majority bool
	// Needs says what is missing where it cannot be played, and is empty where it can. Nil: it always can.
	Needs func(Setting) string
	// Draw draws one, or returns nil when there can be none at this time.
	Draw func(*Drawing) Fault
}

// names are those of nodes by their numbers, counted from 0, and gatewayNames those of gateways.
func names(nodes ...int) string { return numbered("node-%d", nodes) }

func gatewayNames(gateways ...int) string { return numbered("gateway-%d", gateways) }

func numbered(name string, numbers []int) string {
	all := make([]string, len(numbers))
	for i, n := range numbers {
		all[i] = fmt.Sprintf(name, n+1)
	}
	return strings.Join(all, ", ")
}

// instant is a fault that needs no End.
type instant struct{}

// End does nothing.
func (instant) End(context.Context, *Stage) error { return nil }
