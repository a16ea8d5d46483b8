package debug

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/cluster/health"
	"github.com/jeton-dev/jeton/ring/level"
)

// Ring can say how the cluster is.
type Ring interface {
	Status(ctx context.Context) cluster.Status
}

// ring answers GET /debug/ring.
func (p *pages) ring(w http.ResponseWriter, r *http.Request) {
	if p.Ring == nil {
		http.Error(w, "this node is alone: it has no cluster", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	s := p.Ring.Status(ctx)
	p.answer(w, r, s, func(w io.Writer) error { return WriteStatus(w, &s) })
}

// WriteStatus shows how the cluster is, for people.
func WriteStatus(w io.Writer, s *cluster.Status) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _ = plain.Fprintf(table, format, args...) } // Flush tells of an error
	if s.Cluster == "" {
		say("%s belongs to no cluster yet%s\n", s.Node, waits(s))
		return table.Flush()
	}
	if s.Partitions == 0 {
		say("%s belongs to cluster %s and has no table yet: it has not heard from a majority of the others%s\n", s.Node, s.Cluster, waits(s))
		return table.Flush()
	}
	leader := s.Leader
	if leader == "" {
		leader = "none: neither table nor limits can change until a majority of the voters is up"
	}
	say("%s, as %s sees it\n\ncluster\t%s\nleader\t%s\n", s.Deciding.String(), s.Node, s.Cluster, leader)
	say("table\tversion %d, %d partitions in epochs %d to %d, %s%s\n",
		s.Version, s.Partitions, s.LowestEpoch, s.HighestEpoch, replicas(s), floors(s))
	say("moves\t%s\nlimits\tversion %d\nlevel\t%s\n", moves(s), s.LimitsVersion, levels(s))
	sayKeys(say, s)
	for _, k := range s.KeptOut {
		say("kept out\t%s at %s: %s\n", k.Name, k.Gossip, k.Why)
	}
	fmt.Fprintln(table)
	fmt.Fprintln(table, "node\tzone\tis\traft\towner of\treplica of\tclock\tgRPC\tid")
	for i := range s.Nodes {
		n := &s.Nodes[i]
		say("%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n",
			n.Name, orDash(n.Zone), state(n), orDash(n.Role), n.Owner, n.Replica, clockOf(n, s.Node), n.GRPC, n.ID)
	}
	return table.Flush()
}

// waits is what a node waits for that is no member yet.
func waits(s *cluster.Status) string {
	if s.Waits == "" {
		return ""
	}
	return ": " + s.Waits
}

func replicas(s *cluster.Status) string {
	switch s.Replicas {
	case s.Wanted:
		return fmt.Sprintf("%d replicas of each", s.Replicas)
	case 1:
		return fmt.Sprintf("one replica of each (%d once there are 3 nodes)", s.Wanted)
	}
	return fmt.Sprintf("%d replicas of each (%d once there are as many nodes)", s.Replicas, s.Wanted)
}

func floors(s *cluster.Status) string {
	if s.Floored == 0 {
		return ""
	}
	return fmt.Sprintf("; %d began with a floor after a forced recovery", s.Floored)
}

func moves(s *cluster.Status) string {
	if s.Moves.Left == 0 && len(s.Moves.Phases) == 0 {
		return "none"
	}
	text := fmt.Sprintf("%d partitions to move, %d under way", s.Moves.Left, s.Moves.UnderWay)
	var phases []string
	for _, phase := range slices.Sorted(maps.Keys(s.Moves.Phases)) {
		phases = append(phases, fmt.Sprintf("%d %s", s.Moves.Phases[phase], phase))
	}
	if len(phases) > 0 {
		text += ": " + strings.Join(phases, ", ")
	}
	return text
}

// levels is the level of the cluster, with what may become of it.
func levels(s *cluster.Status) string {
	now := max(s.Level, level.First) // an older node does not tell
	if s.Raise > 0 {
		return fmt.Sprintf("%d; every node knows %d: jeton cluster upgrade raises it", now, s.Raise)
	}
	var older, unknown []string
	most := now
	for _, n := range s.Nodes {
		if n.Levels != nil {
			most = max(most, n.Levels.Newest)
		}
	}
	for _, n := range s.Nodes {
		switch {
		case most == now:
		case n.Levels == nil:
			unknown = append(unknown, n.Name)
		case n.Levels.Newest < most:
			older = append(older, n.Name)
		}
	}
	switch {
	case len(older) > 0:
		return fmt.Sprintf("%d; some nodes know %d, but not %s", now, most, strings.Join(older, ", "))
	case len(unknown) > 0:
		return fmt.Sprintf("%d; some nodes know %d; not heard: %s", now, most, strings.Join(unknown, ", "))
	}
	return strconv.Itoa(now)
}

// state is what a node is doing, and for how long it has not answered the node that tells.
func state(n *cluster.NodeStatus) string {
	switch {
	case n.Answering == health.Unreachable && !n.Alive:
		return "gone for " + seconds(max(n.SilentSeconds, n.DeadSeconds))
	case n.Answering == health.Unreachable:
		return "unreachable for " + seconds(n.SilentSeconds)
	case n.Answering == health.Suspect:
		return "suspect for " + seconds(n.SilentSeconds)
	case !n.Alive:
		return "up, no gossip for " + seconds(n.DeadSeconds)
	case n.Leaving:
		return "leaving"
	case n.Draining && n.Replica == 0:
		return "drained"
	case n.Draining:
		return "draining"
	case n.Refuses != "":
		return "up, decides nothing"
	}
	return "up"
}

// seconds is that many of them for people.
func seconds(n float64) string {
	return plain.Duration(time.Duration(n * float64(time.Second)).Round(time.Second))
}

// clockOf is how far a node's clock is ahead of that of the one who tells.
func clockOf(n *cluster.NodeStatus, teller string) string {
	switch {
	case n.Name == teller:
		return "0"
	case n.ClockAheadMS == nil:
		return "-"
	}
	return fmt.Sprintf("%+.1fms", *n.ClockAheadMS)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
