package key

import "time"

// A Use tells of one of the secrets in force how others use it.
type Use struct {
	// Name tells it from others: four hexadecimal digits, from which it cannot be had. Two secrets have the same name once in 65,536 times.
	Name string
	// Times is how often others have proved to have it, by how: OverTLS, OverGossip and OverToken.
	Times map[string]uint64
	// Open is how many connections are open whose other end has shown it.
	Open int
	// Last is when it was proved last; zero for never. It is now while a connection is open.
	Last time.Time
}

// Uses are those of the secrets in force. The first one is what this process shows to others.
func (k *Key) Uses() (all []Use) {
	for _, o := range k.all() {
		u := Use{
			Name: o.name(), Open: k.conns.count(o),
			Times: map[string]uint64{OverTLS: o.uses.tls.Load(), OverGossip: o.uses.gossip.Load(), OverToken: o.uses.token.Load()},
		}
		if last := o.uses.last.Load(); last > 0 {
			u.Last = time.Unix(0, last)
		}
		if u.Open > 0 {
			u.Last = time.Now()
		}
		all = append(all, u)
	}
	return all
}
