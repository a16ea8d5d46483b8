package owner

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A path is how a state was first reached: the event that led to it, from which other one.
type path struct {
	parent int32
	last   event
}

// shortest searches breadth first for the shortest way to break a promise, and tells it as a story. It gives up after
// so many states.
func shortest(s *setting, most int) (story, broken string, states int) {
	paths := []path{{parent: -1}}
	seen := map[uint64]struct{}{}
	root, w, next := newWorld(s), &world{}, &world{}
	var enc encoder
	var list []event
	for i := 0; i < len(paths) && len(paths) < most; i++ {
		root.copyTo(w)
		for _, e := range wayTo(paths, i) {
			w.apply(e)
		}
		list = w.events(list[:0])
		for _, e := range list {
			w.copyTo(next)
			next.apply(e)
			if next.broken != "" {
				return tell(s, append(wayTo(paths, i), e)), next.broken, len(paths)
			}
			d := enc.digest(next)
			if _, known := seen[d]; !known {
				seen[d] = struct{}{}
				paths = append(paths, path{int32(i), e})
			}
		}
	}
	return "", "", len(paths)
}

// wayTo is every event from the beginning to the state of that number.
func wayTo(paths []path, i int) (way []event) {
	for ; paths[i].parent >= 0; i = int(paths[i].parent) {
		way = append(way, paths[i].last)
	}
	for a, b := 0, len(way)-1; a < b; a, b = a+1, b-1 {
		way[a], way[b] = way[b], way[a]
	}
	return way
}

// tell plays the events once more and says what happens.
func tell(s *setting, way []event) string {
	var story strings.Builder
	w := newWorld(s)
	w.say = func(format string, args ...any) {
		fmt.Fprintf(&story, "  "+format+"\n", args...)
	}
	for _, e := range way {
		w.apply(e)
	}
	if w.broken != "" {
		fmt.Fprintf(&story, "  BROKEN: %s\n", w.broken)
	}
	return story.String()
}

// name is the player's, with its life if it is not the first.
func (w *world) name(who int) string {
	name := string(rune('A' + who))
	if life := w.players[who].life; life > 1 {
		name += fmt.Sprintf("(life %d)", life)
	}
	return name
}

func (m *message) String() string {
	return fmt.Sprintf("#%d for (%d, %d] in generation %s", m.Seq, m.From/tick, m.To/tick, position(m.Generation))
}

func (r reading) String() string {
	if r.cost < 0 {
		return fmt.Sprintf("reset of tick %d", r.at/tick)
	}
	return fmt.Sprintf("check of %d at tick %d", r.cost, r.at/tick)
}

// position is a generation in ticks, or a plain count.
func position(generation int64) string {
	if generation >= plain {
		return fmt.Sprintf("number %d", generation-plain)
	}
	if part := generation % tick; part != 0 {
		return fmt.Sprintf("%d+%dns", generation/tick, part)
	}
	return fmt.Sprint(generation / tick)
}

func span(s limit.Span) string { return fmt.Sprintf("(%d, %d]", s.Start/tick, s.End/tick) }

func reused(r limit.Receipt) string {
	var b strings.Builder
	for _, p := range r.Reuses {
		b.WriteString(", and again " + span(p))
	}
	return b.String()
}
