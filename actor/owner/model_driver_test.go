package owner

import (
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/move"
)

// members are nodes of the model: bit i is for node i. Owners number them in this order.
type members uint8

func (m members) has(n int) bool { return m>>n&1 == 1 }

func (m members) size() int { return bits.OnesCount8(uint8(m)) }

// index is the replica number of a node.
func (m members) index(n int) int { return (m & (1<<n - 1)).size() }

func (m members) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; m != 0; m &= m - 1 {
			if !yield(bits.TrailingZeros8(uint8(m))) {
				return
			}
		}
	}
}

func (m members) String() string {
	text := ""
	for n := range m.all() {
		text += fmt.Sprintf(",%d", n+1)
	}
	return "{" + text[min(1, len(text)):] + "}"
}

func (m members) ids() (ids []ring.NodeID) {
	for n := range m.all() {
		ids = append(ids, ring.NodeID{byte(n) + 1})
	}
	return ids
}

func nodeOf(id ring.NodeID) int { return int(id[0]) - 1 }

func membersOf(ids []ring.NodeID) (m members) {
	for _, id := range ids {
		m |= 1 << nodeOf(id)
	}
	return m
}

// A place is a ring.Place of the model's nodes.
type place struct {
	epoch                  uint8
	replicas, target, next members
}

func (p place) ring() ring.Place {
	return ring.Place{Epoch: uint64(p.epoch), Replicas: p.replicas.ids(), Target: p.target.ids(), Next: p.next.ids()}
}

// A task is what a driver wants of a node, or of raft.
type task uint8

const (
	copies task = iota
	seals
	installs
	completes
	agrees
	commits
)

// raft is its number where orders are given to nodes.
const raft = nodes + 1

// An order is a task of one node, or of raft. A driver has one of each at a time.
type order struct {
	task
	node    int
	epoch   uint64 // as in the action
	sources members
	enough  int
	action  move.Action
}

func (o *order) code() uint8 { return uint8(o.task)<<4 | uint8(o.node) }

func orderOf(a move.Action) order {
	o := order{node: raft, action: a}
	switch a := a.(type) {
	case move.Copy:
		o.task, o.node, o.epoch, o.sources = copies, nodeOf(a.Node), a.Epoch, membersOf(a.Sources)
	case move.Seal:
		o.task, o.node, o.epoch = seals, nodeOf(a.Node), a.Epoch
	case move.Install:
		o.task, o.node, o.epoch, o.sources, o.enough = installs, nodeOf(a.Node), a.Epoch, membersOf(a.Sources), a.Enough
	case move.Complete: // so many are never sealed: only one that has installed counts
		o.task, o.node, o.epoch, o.sources, o.enough = completes, nodeOf(a.Node), a.Epoch, membersOf(a.Sources), len(a.Sources)+1
	case move.Agree:
		o.task, o.epoch, o.sources = agrees, a.Epoch, membersOf(a.Next)
	case move.Commit:
		o.task, o.epoch, o.sources = commits, a.Epoch, membersOf(a.Next)
	}
	return o
}

// What a driver is told.
type tidings uint8

const (
	toBegin tidings = iota
	ofPlace
	ofSuccess
	ofFailure
	ofTime // that it has waited for
)

type told struct {
	tidings
	code  uint8 // of the order that it is about
	place place
}

// moves are all that drivers can know, each by a number. A move.Move cannot be copied, so it is made anew from all that it
// was told, once for each step; the step is remembered.
type moves struct {
	states  []driving // by number; the first is that of no driver
	numbers map[string]uint16
	steps   map[step]uint16
	renamed map[renaming]uint16
	names   map[string]uint16
}

type driving struct {
	heard []told  // since it began
	open  []order // what it wants, and has not heard of yet
	waits bool    // for time to pass
}

type step struct {
	from uint16
	told
}

type renaming struct {
	state uint16
	rank  [nodes]uint8
}

func newMoves() *moves {
	return &moves{
		states: make([]driving, 1), numbers: map[string]uint16{}, steps: map[step]uint16{},
		renamed: map[renaming]uint16{}, names: map[string]uint16{},
	}
}

// step is what a driver knows that has known from, and is told something.
func (all *moves) step(from uint16, t told) uint16 {
	s := step{from, t}
	if to, known := all.steps[s]; known {
		return to
	}
	d := driving{heard: append(slices.Clone(all.states[from].heard), t)}
	r := replay(d.heard)
	name := r.describe([nodes]uint8{0, 1, 2, 3})
	to, known := all.numbers[name]
	if !known {
		to = uint16(len(all.states))
		d.open, d.waits = r.open, r.m.Until() > 0
		all.states = append(all.states, d)
		all.numbers[name] = to
	}
	all.steps[s] = to
	return to
}

// rename is a number for what a driver knows, but for the names of nodes: it is the same if one can be renamed to the
// other.
func (all *moves) rename(state uint16, rank [nodes]uint8) uint16 {
	if state == 0 {
		return 0
	}
	r := renaming{state, rank}
	if n, known := all.renamed[r]; known {
		return n
	}
	player := replay(all.states[state].heard)
	name := player.describe(rank)
	n, known := all.names[name]
	if !known {
		n = uint16(len(all.names) + 1)
		all.names[name] = n
	}
	all.renamed[r] = n
	return n
}

// A driver is a move and what it wants.
type driver struct {
	m    *move.Move
	now  int64
	open []order
}

func replay(heard []told) *driver {
	d := &driver{now: 1}
	for _, t := range heard {
		switch t.tidings {
		case toBegin:
			d.m = move.New(t.place.ring())
			d.step(move.Tick{})
		case ofPlace:
			d.step(move.Placed{Place: t.place.ring()})
			d.withdraw()
		case ofSuccess, ofFailure:
			i := slices.IndexFunc(d.open, func(o order) bool { return o.code() == t.code })
			o := d.open[i]
			d.open = slices.Delete(d.open, i, i+1)
			d.step(move.Answer{To: o.action, OK: t.tidings == ofSuccess})
		case ofTime:
			d.now = d.m.Until()
			d.step(move.Tick{})
		}
	}
	slices.SortFunc(d.open, func(a, b order) int { return int(a.code()) - int(b.code()) })
	return d
}

func (d *driver) step(e move.Event) {
	for _, a := range d.m.Step(e, d.now) {
		d.open = append(d.open, orderOf(a))
	}
}

// withdraw takes back what is of no use any more.
func (d *driver) withdraw() {
	for i := 0; i < len(d.open); {
		if a := d.open[i].action; !d.m.Wants(a) {
			d.open = slices.Delete(d.open, i, i+1)
			d.step(move.Answer{To: a})
			i = 0
			continue
		}
		i++
	}
}

// describe writes down all that the driver knows, with other names for the nodes. Times count from now.
func (d *driver) describe(rank [nodes]uint8) string {
	s := describer{rank: rank, now: d.now}
	name := s.value(reflect.ValueOf(d.m).Elem())
	var open []string
	for _, o := range d.open {
		open = append(open, s.value(reflect.ValueOf(o.action))+fmt.Sprintf("%T", o.action))
	}
	slices.Sort(open)
	return name + strings.Join(open, ";")
}

type describer struct {
	rank [nodes]uint8
	now  int64
}

func (s *describer) value(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return fmt.Sprint(v.Bool())
	case reflect.Int, reflect.Int64:
		return fmt.Sprint(v.Int())
	case reflect.Uint8, reflect.Uint64:
		return fmt.Sprint(v.Uint())
	case reflect.Array: // a node's id
		return string('a' + rune(s.rank[v.Index(0).Uint()-1]))
	case reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, s.value(v.Index(i)))
		}
		slices.Sort(all)
		return "[" + strings.Join(all, " ") + "]"
	case reflect.Pointer:
		return s.value(v.Elem())
	case reflect.Map:
		var all []string
		for i := v.MapRange(); i.Next(); {
			if of := s.value(i.Value()); strings.ContainsAny(of, "t123456789") { // otherwise nothing has happened yet
				all = append(all, s.value(i.Key())+of)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	case reflect.Struct:
		var all []string
		for i := range v.NumField() {
			switch f := v.Field(i); v.Type().Field(i).Name {
			case "actions", "until", "pace": // what was returned, what follows from the rest, and what never changes
			case "at":
				all = append(all, fmt.Sprint(max(f.Int()-s.now, 0)))
			default:
				all = append(all, s.value(f))
			}
		}
		return "{" + strings.Join(all, ",") + "}"
	default:
		panic("a move holds a " + v.Kind().String())
	}
}
