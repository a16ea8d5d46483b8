package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

const (
	second = int64(time.Second)
	// dawn is where the time of every scene begins. Line before it is past for all owners.
	dawn = 1000 * second
	// patience is how long a check waits for its decision.
	patience = second / 2
)

// decideFunc is what a replica does with a reservation: production's own step, or a wrong one.
type decideFunc func(register.Partition, register.Register, register.Reservation, int64, register.Bounds) (
	register.Register, register.Answer, bool,
)

// A scene is a script of what happens to owners and replicas. They take production's own steps, and what they say is what
// is drawn: the script decides only who asks, which message arrives when, and what fails.
type scene struct {
	*diagram

	now      int64
	rule     *limit.Rule
	decide   decideFunc
	replicas []*replica // all that ever take part
	sets     [][]*replica
	owners   []*player
	began    bool // the clock has been told
	memory   bool // registers are kept in memory: there is no fsync
	spans    []spent
	problems []error
}

// A replica keeps the register of the one bucket that there is.
type replica struct {
	*lane

	id        ring.NodeID
	partition register.Partition
	register  register.Register
}

// A player is an owner.
type player struct {
	*lane
	*owner.Owner

	caller *lane
	cfg    *owner.Config
	id     byte
	seq    uint64
	epoch  uint64
	sent   []*message
	held   []segment
}

// A message is a reservation that was sent once.
type message struct {
	owner.Send

	by      *player
	stamped int64
	row     float64
	answers map[*replica]*answered
	yes     int // acceptances that its owner has heard
}

type answered struct {
	register.Answer

	row float64
}

// A segment is line that a majority has accepted for an owner; spent is line that an admission consumed.
type (
	segment struct{ from, to int64 }
	spent   struct {
		limit.Span

		by *player
	}
)

// newScene has these lanes, from left to right: callers, owners, which have the name of a letter, nodes, which are replicas,
// and raft. An owner's caller is the last one before it. Who keeps the registers in the first epoch is said by places.
func newScene(names ...string) *scene {
	s := &scene{diagram: newDiagram(names...), now: dawn, rule: demo(0), decide: register.Partition.Reserve, sets: make([][]*replica, 2)}
	caller := s.lanes[0]
	for _, l := range s.lanes {
		switch {
		case strings.HasPrefix(l.name, "caller"):
			caller = l
		case strings.HasPrefix(l.name, "node"):
			s.replicas = append(s.replicas, &replica{lane: l, id: ring.NodeID{byte(len(s.replicas) + 1)}})
		case len(l.name) == 1:
			s.owners = append(s.owners, newPlayer(l, caller))
		}
	}
	return s
}

// demo is the rule of a scene, of which an owner may take so much beyond what checks need.
func demo(reserve limit.Reserve) *limit.Rule {
	rule, err := limit.Limit{Name: "demo", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Reserve: reserve}.Rule()
	if err != nil {
		panic(err) // the numbers above are wrong
	}
	return rule
}

// usual is a scene with one caller, these owners, and three nodes that are the replicas. A is the owner on node 1, and B the
// one on node 2.
func usual(owners ...string) *scene {
	nodes := []string{"node 1", "node 2", "node 3"}
	s := newScene(slices.Concat([]string{"caller"}, owners, nodes)...)
	s.places(nodes...)
	return s
}

// newPlayer is the owner of that lane. Its settings are those of production, but that nothing is left to chance, that it
// reserves ahead for a second instead of a tenth, for all to see, and that it does so only where a scene makes it busy.
func newPlayer(l, caller *lane) *player {
	p := &player{lane: l, caller: caller, id: l.name[0], epoch: ring.FirstEpoch}
	l.class = "first"
	if l.name != "A" {
		l.class = "second"
	}
	p.cfg = &owner.Config{
		Replicas: 1, Delta: second, Busy: 1 << 30, Slack: register.DefaultBounds().Slack(), Resend: owner.DefaultResend,
		Patience: owner.DefaultPatience, ReturnFor: owner.DefaultReturnFor,
		NextSeq: func() uint64 { p.seq++; return p.seq }, Nonce: func() uint64 { return 0 }, Rand: func(int64) int64 { return 0 },
	}
	p.Owner = owner.New(p.cfg, limit.OwnerID{p.id}, p.epoch)
	return p
}

// places makes these nodes the replicas of the first epoch.
func (s *scene) places(names ...string) {
	for _, name := range names {
		r := s.replica(name)
		r.partition = r.partition.Found()
		s.sets[1] = append(s.sets[1], r)
	}
	for _, p := range s.owners {
		p.cfg.Replicas = len(names)
	}
}

// claim notes what the text beside a picture says, and whether it is so.
func (s *scene) claim(ok bool, format string, args ...any) {
	if !ok {
		s.problems = append(s.problems, fmt.Errorf("it is not so that "+format, args...))
	}
}

func (s *scene) owner(name string) *player {
	l := s.lane(name)
	return s.owners[slices.IndexFunc(s.owners, func(p *player) bool { return p.lane == l })]
}

func (s *scene) replica(name string) *replica {
	l := s.lane(name)
	return s.replicas[slices.IndexFunc(s.replicas, func(r *replica) bool { return r.lane == l })]
}

// at lets the clock show so many milliseconds after the beginning. Owners that run are woken when they want to be.
func (s *scene) at(milliseconds int64) {
	to := dawn + milliseconds*int64(time.Millisecond)
	for {
		i := slices.IndexFunc(s.owners, func(p *player) bool { return !p.down && !p.frozen && p.Due() <= to })
		if i < 0 {
			break
		}
		s.now = max(s.now, s.owners[i].Due())
		s.tell("t = " + when(s.now))
		s.step(s.owners[i], func(out *owner.Out) { s.owners[i].Wake(s.now, out) })
	}
	s.now = to
	s.tell("t = " + when(to))
}

// ask has the caller ask an owner to admit a cost, now.
func (s *scene) ask(name string, cost int64) {
	if !s.began {
		s.began = true
		s.tell("t = " + when(s.now))
	}
	p := s.owner(name)
	row := s.next()
	s.between("ask", p.caller, row, p.lane, row)
	s.note(p.caller, row-0.42, "dim", fmt.Sprintf("cost %d?", cost))
	s.step(p, func(out *owner.Out) {
		p.Check(owner.Check{
			Tag: cost, At: s.now, Deadline: s.now + patience, Rules: []*limit.Rule{s.rule}, Cost: cost, Receipts: true,
		}, out)
	})
}

// step lets an owner take a step, and draws what comes of it.
func (s *scene) step(p *player, f func(*owner.Out)) {
	var out owner.Out
	f(&out)
	for _, reply := range out.Replies {
		s.reply(p, reply)
	}
	for _, send := range out.Sends {
		row := s.next()
		what := "reserves "
		if send.Background {
			what = "reserves ahead "
		}
		s.noteLeft(p.lane, row, p.class, what+piece(send.From, send.To))
		p.sent = append(p.sent, &message{Send: send, by: p, stamped: s.now, row: row, answers: map[*replica]*answered{}})
	}
}

// reply draws an answer to the caller, and notes what was spent.
func (s *scene) reply(p *player, r owner.Reply) {
	row := s.next()
	class, color, text := "refused", "wrong", "unavailable"
	switch {
	case r.Err != nil:
	case r.Decision.Allowed:
		span := r.Decision.Receipts[0].Span
		s.spans = append(s.spans, spent{span, p})
		class, color, text = "yes", "good", "yes "+piece(span.Start, span.End)
	default:
		color, text = "no", "no, wait "+num(r.Decision.Limits[0].RetryAfter.Seconds())+" s"
	}
	s.between(class, p.lane, row, p.caller, row)
	s.note(p.caller, row-0.42, color, text)
}

// last is what an owner has sent last.
func (s *scene) last(name string) *message {
	sent := s.owner(name).sent
	if len(sent) == 0 {
		s.claim(false, "%s has sent a reservation", name)
		return &message{by: s.owner(name), answers: map[*replica]*answered{}}
	}
	return sent[len(sent)-1]
}

// arrives brings a message to replicas, which decide it.
func (s *scene) arrives(sent *message, names ...string) {
	for _, name := range names {
		r, row := s.replica(name), s.after(0.75)
		s.between("ask", sent.by.lane, sent.row, r.lane, row)
		m := register.Reservation{
			Writer: register.Writer{sent.by.id}, Seq: sent.Seq, Epoch: sent.Epoch, Now: sent.stamped, Key: "k", Limit: sent.Limit,
			Generation: sent.Generation, From: sent.From, To: sent.To, Reach: sent.Reach, Lead: sent.Lead,
		}
		after, a, write := s.decide(r.partition, r.register, m, s.now, register.DefaultBounds())
		if write {
			s.fsync(r, row)
		}
		sent.answers[r] = &answered{a, row + 0.45}
		class, text := said(a)
		if _, right, _ := r.partition.Reserve(r.register, m, s.now, register.DefaultBounds()); right.Verdict != a.Verdict {
			class, text = "wrong", text+", wrong"
		}
		if write {
			r.register = after
		}
		s.note(r.lane, row, class, text)
	}
}

// fsync draws that a replica writes something down before it answers.
func (s *scene) fsync(r *replica, row float64) {
	if !s.memory {
		s.front.rect("fsync", r.x-3, s.y(row), 6, rowHeight*0.45)
	}
}

// said is an answer as it is drawn.
func said(a register.Answer) (class, text string) {
	switch a.Verdict {
	case register.Accepted:
		return "good", "yes: H = " + place(a.Position)
	case register.Taken:
		return "no", "no: free from " + place(a.Position)
	case register.WrongEpoch:
		return "no", fmt.Sprintf("no: epoch %d here", a.Epoch)
	case register.Sealed:
		return "no", "no: sealed"
	case register.OldGeneration, register.Skewed, register.TooFar, register.Full, register.OtherBase:
	}
	return "no", "no"
}

// hears brings the answers of replicas to the owner.
func (s *scene) hears(m *message, names ...string) {
	for _, name := range names {
		r := s.replica(name)
		a := m.answers[r]
		if a == nil {
			s.claim(false, "%s has answered", name)
			continue
		}
		row := s.after(0.5)
		class := "refused"
		answer := owner.Answer{
			Replica: slices.Index(s.sets[m.Epoch], r), Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch,
			Position: a.Position, Generation: a.Generation,
		}
		switch a.Verdict {
		case register.Accepted:
			class, answer.Verdict = "yes", owner.Accepted
			m.yes++
		case register.WrongEpoch, register.Sealed:
			answer.Verdict = owner.Elsewhere
		default:
			answer.Verdict = owner.Refused
		}
		s.between(class, r.lane, a.row, m.by.lane, row)
		s.step(m.by, func(out *owner.Out) {
			before, _ := m.by.View(s.rule.Name, s.now)
			m.by.Answer(answer, s.now, out)
			if after, _ := m.by.View(s.rule.Name, s.now); after.Hi > before.Hi || after.Next != before.Next && after.Next[1] == m.To {
				s.claim(m.yes >= ring.Majority(len(s.sets[m.Epoch])), "a majority has accepted %s", piece(m.From, m.To))
				m.by.held = append(m.by.held, segment{m.From, m.To})
			}
		})
	}
}

// round brings an owner's last message to replicas, and their answers back.
func (s *scene) round(name string, replicas ...string) {
	m := s.last(name)
	s.arrives(m, replicas...)
	s.hears(m, replicas...)
}

// lose loses a message on its way to replicas.
func (s *scene) lose(m *message, part float64, names ...string) {
	row := s.next()
	for _, name := range names {
		s.loses(m.by.lane, m.row, s.lane(name), row, part)
	}
}

// spentTwice is the line that two admissions have consumed, and how much that is.
func (s *scene) spentTwice() (pieces []segment, length int64) {
	for i, a := range s.spans {
		for _, b := range s.spans[:i] {
			if p := (segment{max(a.Start, b.Start), min(a.End, b.End)}); p.from < p.to {
				pieces = append(pieces, p)
				length += p.to - p.from
			}
		}
	}
	return pieces, length
}

// overlapping says whether two owners hold the same line.
func (s *scene) overlapping() bool {
	var all []segment
	for _, p := range s.owners {
		for _, a := range p.held {
			for _, b := range all {
				if max(a.from, b.from) < min(a.to, b.to) {
					return true
				}
			}
			all = append(all, a)
		}
	}
	return false
}

// sound claims what every scene with the right protocol shows.
func (s *scene) sound() {
	_, twice := s.spentTwice()
	s.claim(twice == 0, "no line is spent twice")
	s.claim(!s.overlapping(), "no segments overlap")
}

// err is what was claimed and is not so.
func (s *scene) err() error { return errors.Join(s.problems...) }

// when is a time as it is written.
func when(at int64) string { return place(at) + " s" }

// place is a position in seconds after the beginning.
func place(at int64) string { return num(float64((at-dawn)/int64(time.Millisecond)) / 1000) }

func piece(from, to int64) string { return "(" + place(from) + ", " + place(to) + "]" }
