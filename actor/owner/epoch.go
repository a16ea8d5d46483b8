package owner

import "github.com/jeton-dev/jeton/actor/limit"

// Terms are what many owners have in common: what their process is, and which epoch of a replica set they act in. They
// never change, so that all owners of one epoch share them; an owner goes on under others with [Owner.Enter].
type Terms struct {
	cfg   *Config
	id    limit.OwnerID
	epoch uint64
}

// NewTerms are those of the process called id, for keys whose replica set is in that epoch and has cfg.Replicas members.
func NewTerms(cfg *Config, id limit.OwnerID, epoch uint64) *Terms {
	return &Terms{cfg: cfg, id: id, epoch: epoch}
}

// Enter goes on under other terms: the key's replica set has changed. What the owner holds of the line stays its own,
// whoever keeps the registers now, and so does all that it knows of its checks. What the replicas have said is forgotten,
// for they are others; the reservation in flight is given up, so it is never spent, and who waits reserves anew.
func (o *Owner) Enter(t *Terms, now int64, out *Out) {
	if o.Terms == t {
		return
	}
	o.Terms = t
	for i := range o.size() {
		o.at(i).forgetReplicas()
	}
	o.run(now, out)
}

// forgetReplicas leaves of a talk what is no replica's: the next segment.
func (b *bucket) forgetReplicas() {
	b.agree = 0
	if t := b.talk(); t != nil {
		*t = talk{next: t.next, nextFar: t.nextFar}
	}
}
