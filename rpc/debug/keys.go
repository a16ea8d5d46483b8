package debug

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// sayKeys says which cluster keys are in force, a line for each, and by which nodes; nothing where there is none.
func sayKeys(say func(format string, args ...any), s *cluster.Status) {
	var names, unknown []string
	for i := range s.Nodes {
		if s.Nodes[i].Keys == nil {
			unknown = append(unknown, s.Nodes[i].Name)
		}
		for _, k := range s.Nodes[i].Keys {
			if !slices.Contains(names, k.Name) {
				names = append(names, k.Name)
			}
		}
	}
	for _, name := range names {
		say("key %s\t%s\n", name, keyOf(s, name))
	}
	if len(names) > 0 && len(unknown) > 0 {
		say("keys of\t%s: not known\n", strings.Join(unknown, ", "))
	}
}

// keyOf says which nodes show a key and which only accept it, and how it was used last.
func keyOf(s *cluster.Status, name string) string {
	var shown, accepted, refused []string
	open, last := 0, time.Duration(-1)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		at := slices.IndexFunc(n.Keys, func(k message.KeyUse) bool { return k.Name == name })
		switch {
		case n.Keys == nil:
			continue
		case at < 0:
			refused = append(refused, n.Name)
			continue
		case at == 0:
			shown = append(shown, n.Name)
		default:
			accepted = append(accepted, n.Name)
		}
		open += n.Keys[at].Connections
		if ago := n.Keys[at].UsedSeconds; ago != nil {
			if d := time.Duration(*ago * float64(time.Second)); last < 0 || d < last {
				last = d
			}
		}
	}
	return which("shown by ", shown) + which("only accepted by ", accepted) + which("refused by ", refused) + lastUse(open, last)
}

// which says which nodes do something; empty where none does.
func which(does string, nodes []string) string {
	if len(nodes) == 0 {
		return ""
	}
	return does + strings.Join(nodes, ", ") + "; "
}

// lastUse says how a key was used last, by nodes, operators and gateways.
func lastUse(open int, last time.Duration) string {
	switch {
	case open > 0:
		return fmt.Sprintf("in use: %d open connections", open)
	case last < 0:
		return "not used since it is in force"
	}
	return "used last " + plain.Duration(last) + " ago"
}
