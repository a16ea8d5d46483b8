package owner

// reset brings a bucket into a newer generation, in which nothing is spent, and says whether that is done. The new
// generation is itself a position on the line: everything that was reserved up to it counts no longer. It lies beyond
// all that any owner can have reserved by now, so no late message of the old generation can count again.
func (o *Owner) reset(w *waiter, now int64, out *Out) (done bool, err error) {
	b := o.bucketOf(w.reset, out)
	if b.ledger() != nil {
		return o.empty(b, w, now, out)
	}
	p := b.pending()
	switch {
	case w.resetSeq != 0 && w.resetSeq == o.overflow.didSeq:
		return true, nil
	case p != nil && p.reset, b.pausing(now):
		return false, nil
	}
	t := b.startReplication(out)
	if w.resetSeq == 0 {
		t.refused = nil // it speaks of the old generation
	}
	generation, from := o.newGeneration(b, now)
	// Whatever was in flight belongs to the old generation, and is dropped.
	p = o.send(b, Send{Generation: generation, From: from, To: from}, now, out)
	p.reset = true
	w.resetSeq = p.Seq
	return false, nil
}

// newGeneration is the generation that a reset asks for, and from where on. The generation is a position beyond everything that was
// heard of. But a retry keeps the one before if that can be accepted further on: what is reserved in it was reserved since.
func (o *Owner) newGeneration(b *bucket, now int64) (generation, from int64) {
	t := b.replication()
	least := max(b.gen+1, b.held.to, t.next.to)
	for _, h := range t.reported[:o.cfg.Replicas] {
		least = max(least, h.generation, h.position)
	}
	if r := t.refused; r != nil && r.reset && r.Generation >= least && r.From <= r.sentAt {
		if from := b.free(r.Generation, all, nil, o.cfg); from > now {
			return r.Generation, from
		}
	}
	generation = max(least, now+b.rule.Ahead()+o.cfg.Slack)
	return generation, max(now, b.free(generation, all, nil, o.cfg))
}
