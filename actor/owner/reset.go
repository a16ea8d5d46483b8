package owner

// reset brings a bucket into a newer generation, in which nothing is spent, and says whether that is done. The new
// generation is itself a position on the line: everything that was reserved up to it counts no longer. It lies beyond
// all that any owner can have reserved by now, so no late message of the old generation can count again.
func (o *Owner) reset(w *waiter, now int64, out *Out) bool {
	b := o.of(w.reset, out)
	p := b.pending()
	switch {
	case w.resetSeq != 0 && w.resetSeq == o.crowd.didSeq:
		out.Replies = append(out.Replies, Reply{Tag: w.Tag})
		return true
	case p != nil && p.reset, b.pausing(now):
		return false
	}
	t := b.open(out)
	if w.resetSeq == 0 {
		t.refused = nil // it speaks of the old generation
	}
	generation := max(now+b.rule.Reach()+o.cfg.Slack, b.gen+1, b.held.to, t.next.to)
	for _, h := range t.heard[:o.cfg.Replicas] {
		generation = max(generation, h.generation, h.position)
	}
	from := max(now, b.hint(now, o.cfg))
	// Whatever was in flight belongs to the old generation, and is dropped.
	p = o.send(b, Send{Generation: generation, From: from, To: from}, now, out)
	p.reset = true
	w.resetSeq = p.Seq
	return false
}
