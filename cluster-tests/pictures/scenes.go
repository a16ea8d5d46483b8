package main

import "github.com/jeton-dev/jeton/storage/register"

// coldKey is a check of a key that no caller has asked for lately.
func coldKey() (string, error) {
	s := usual("A")
	s.ask("A", 4)
	m := s.last("A")
	s.arrives(m, "node 1", "node 2", "node 3")
	s.hears(m, "node 1", "node 2")
	s.claim(len(s.spans) == 1, "two of three are enough")
	s.hears(m, "node 3")
	s.at(200)
	s.ask("A", 7)
	s.claim(len(s.owner("A").sent) == 1, "a denial needs no message")
	s.claim(len(s.spans) == 1, "the second check is denied")
	s.at(1000)
	s.ask("A", 7)
	s.round("A", "node 1", "node 2")
	s.claim(len(s.spans) == 2, "it passes at the very moment that the denial named")
	s.sound()
	return s.picture("A check of a cold key: reserve, a majority, an fsync each, admit", 12), s.err()
}

// killed is an owner that dies.
func killed() (string, error) {
	s := usual("A", "B")
	s.ask("A", 4)
	s.round("A", "node 1", "node 2", "node 3")
	s.at(100)
	row := s.next()
	s.ends(s.lane("A"), row)
	s.ends(s.lane("node 1"), row)
	s.note(s.lane("A"), row, "wrong", "kill -9 of node 1")
	s.at(200)
	row = s.next()
	s.loses(s.lane("caller"), row, s.lane("A"), row, 0.8)
	s.ask("B", 4)
	m := s.last("B")
	s.arrives(m, "node 2", "node 3")
	s.hears(m, "node 2", "node 3")
	s.claim(len(s.spans) == 1, "B is refused at first")
	s.round("B", "node 2", "node 3")
	s.claim(len(s.spans) == 2, "B admits")
	s.claim(s.spans[1].Start == s.spans[0].End, "B goes on where A has stopped")
	s.sound()
	return s.picture("The owner is killed: the next replica learns from a majority and goes on", 12), s.err()
}

// frozen is an owner that stands still while another one takes over, and then goes on.
func frozen() (string, error) {
	s := usual("A", "B")
	a := s.owner("A")
	a.cfg.Busy = 2 // busy enough to reserve ahead
	for range 2 {
		s.ask("A", 1)
		s.round("A", "node 1", "node 2", "node 3")
	}
	s.claim(len(a.held) == 2 && a.held[1].to > s.spans[1].End, "A holds more than it has spent")
	s.at(100)
	row := s.next()
	s.stands(a.lane, row)
	s.note(a.lane, row, "wrong", "SIGSTOP")
	s.at(500)
	s.ask("B", 3)
	s.round("B", "node 2", "node 3")
	s.round("B", "node 2", "node 3")
	s.at(2000)
	s.runs(a.lane, s.next())
	s.note(a.lane, s.rows, "good", "SIGCONT")
	sent := len(a.sent)
	s.ask("A", 1)
	s.claim(len(a.sent) == sent && len(s.spans) == 4, "A spends what it still holds, without a message")
	s.ask("A", 1)
	s.round("A", "node 1", "node 2", "node 3")
	s.claim(len(s.spans) == 4, "A is refused beyond what it holds")
	s.round("A", "node 1", "node 2", "node 3")
	s.claim(len(s.spans) == 5, "A goes on where the line is free")
	s.sound()
	return s.picture("A frozen owner resumes: it spends what it holds, is refused beyond that, and learns", 12), s.err()
}

// rivals are two owners that reserve the same line at the same time.
func rivals() (string, error) {
	s := usual("A", "B")
	s.ask("A", 2)
	s.ask("B", 2)
	a, b := s.last("A"), s.last("B")
	s.arrives(a, "node 1")
	s.arrives(b, "node 3")
	s.arrives(a, "node 2", "node 3")
	s.arrives(b, "node 2", "node 1")
	s.hears(a, "node 1", "node 3", "node 2")
	s.hears(b, "node 3", "node 2", "node 1")
	s.claim(len(s.spans) == 1, "one of them has the majority")
	s.round("B", "node 1", "node 2", "node 3")
	s.claim(len(s.spans) == 2, "the other one reserves behind it")
	s.sound()
	return s.picture("Two owners at once: the register that both need says yes once", 12), s.err()
}

// yesToAll accepts line that is reserved already, for any owner: a wrong replica.
func yesToAll(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	after, a, write := p.Reserve(r, m, now, b)
	if a.Verdict == register.Taken && r.H >= m.To {
		a.Verdict, a.Position = register.Accepted, m.To
	}
	return after, a, write
}

// larger keeps the larger of the two positions and accepts every reservation: a wrong replica too.
func larger(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	after, a, write := p.Reserve(r, m, now, b)
	if a.Verdict == register.Taken {
		after = r
		after.H, after.Writer, after.Seq, after.From = max(r.H, m.To), m.Writer, m.Seq, m.From
		a.Verdict, a.Position, write = register.Accepted, m.To, true
	}
	return after, a, write
}

// wrong is the same interleaving with a wrong replica: A's message to node 3 is late, B's to node 1 lost.
func wrong(title string, decide decideFunc, cost int64) func() (string, error) {
	return func() (string, error) {
		s := wrongScene(decide, cost)
		_, twice := s.spentTwice()
		s.claim(twice > 0 && s.overlapping(), "the wrong replica lets line be spent twice")
		right := wrongScene(register.Partition.Reserve, cost)
		_, twice = right.spentTwice()
		s.claim(twice == 0 && !right.overlapping(), "the right one does not, whatever the order of the messages")
		return s.picture(title, 12), s.err()
	}
}

func wrongScene(decide decideFunc, cost int64) *scene {
	s := usual("A", "B")
	s.decide = decide
	s.ask("A", 3)
	a := s.last("A")
	s.arrives(a, "node 1", "node 2")
	s.hears(a, "node 1", "node 2")
	s.ask("B", cost)
	b := s.last("B")
	s.lose(b, 0.35, "node 1")
	s.arrives(b, "node 2", "node 3")
	s.hears(b, "node 2", "node 3")
	return s
}

// cutOff is a partition: A is on the smaller side, B on the larger one.
func cutOff() (string, error) {
	s := newScene("caller 1", "A", "node 1", "caller 2", "B", "node 2", "node 3")
	s.places("node 1", "node 2", "node 3")
	a := s.owner("A")
	a.cfg.Busy = 2
	for range 2 {
		s.ask("A", 1)
		s.round("A", "node 1", "node 2", "node 3")
	}
	s.at(100)
	from := s.next()
	s.say("wrong", "Node 1, where A runs, is cut off from nodes 2 and 3. B runs on node 2.")
	s.ask("A", 1)
	s.claim(len(s.spans) == 3, "A spends what it holds")
	s.ask("A", 1)
	m := s.last("A")
	s.arrives(m, "node 1")
	s.lose(m, 0.44, "node 2")
	s.hears(m, "node 1")
	s.at(400)
	s.ask("B", 3)
	b := s.last("B")
	s.arrives(b, "node 2", "node 3")
	s.hears(b, "node 2", "node 3")
	s.round("B", "node 2", "node 3")
	s.claim(len(s.spans) == 4, "B's side serves")
	s.at(601)
	s.claim(len(s.spans) == 4, "A's side does not, and says so at the deadline")
	s.wall(s.lane("node 1"), s.lane("caller 2"), from, s.rows+0.5)
	s.at(3000)
	s.say("good", "The network is whole again.")
	s.ask("A", 1)
	s.round("A", "node 2", "node 3", "node 1")
	s.round("A", "node 1", "node 2", "node 3")
	s.claim(len(s.spans) == 5, "A goes on where the line is free")
	s.sound()
	return s.picture("A partition: the majority's side serves, the other one spends what it holds", 12), s.err()
}

// floored is a node that kept its registers in memory and was killed.
func floored() (string, error) {
	s := usual("A")
	s.memory = true
	s.ask("A", 4)
	s.round("A", "node 1", "node 2", "node 3")
	s.at(1000)
	r := s.replica("node 3")
	s.ends(r.lane, s.next())
	s.note(r.lane, s.rows, "wrong", "kill -9")
	s.at(1500)
	r.register = register.Register{}
	r.partition.Floored, r.partition.Floor = true, s.now+register.DefaultBounds().EpsMax
	s.runs(r.lane, s.next())
	s.note(r.lane, s.rows, "no", "floor "+place(r.partition.Floor))
	s.ask("A", 5)
	s.round("A", "node 1", "node 2", "node 3")
	s.claim(len(s.spans) == 2, "one floor of three empties no bucket")
	s.claim(r.register.H == 0, "the replica with the floor refuses")
	s.at(14000)
	s.say("dim", "Later: floor + 10 s (the reach) + 1.5 s has passed, and the floor says nothing any more.")
	s.ask("A", 1)
	s.round("A", "node 1", "node 2", "node 3")
	s.claim(r.register.H > 0, "the floor has faded")
	s.sound()
	return s.picture("Registers in memory, and one of three nodes is killed: it starts with a floor", 18), s.err()
}
