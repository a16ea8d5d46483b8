package identity

import "time"

// A KeySet is what is known of the keys of one issuer that are read from a URL.
type KeySet struct {
	URL  string    // without a password that it has
	Keys int       // that count now
	Read time.Time // when they were read last; zero for never
	// Failed is when reading them failed last, and Err is why; zero and nil if the last try went well.
	Failed time.Time
	Err    error
}

// KeySets are those that the Finder reads, in the order of identity.jwt.
func (f *Finder) KeySets() []KeySet {
	var sets []KeySet
	for _, is := range f.issuers {
		if is.refresh == nil {
			continue
		}
		s := KeySet{URL: is.refresh.shown, Keys: len(is.keys.Load().list)}
		if r := is.refresh.latest.Load(); r != nil {
			s.Read, s.Failed, s.Err = r.read, r.failed, r.err
		}
		sets = append(sets, s)
	}
	return sets
}

// A reading is how the last try to read a key set went. It never changes.
type reading struct {
	read   time.Time // when it went well last
	failed time.Time
	err    error
}

// note keeps how a try went.
func (r *refresh) note(err error) {
	now := &reading{read: time.Now()}
	if err != nil {
		now = &reading{failed: time.Now(), err: err}
		if before := r.latest.Load(); before != nil {
			now.read = before.read
		}
	}
	r.latest.Store(now)
}
