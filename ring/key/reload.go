package key

import "errors"

// Why a file is not followed. Both say that a step of a rotation was left out: see docs/move.md.
var (
	errNotKnown = errors.New("its first key is one that this node does not accept yet, so other nodes may not either: " +
		"let it be the second key until every node accepts it (jeton cluster status shows that), and then the first")
	errStillShown = errors.New("the key that this node shows to others is not in it any more, and other nodes may show it too: " +
		"keep it in the file, with a line --- between two keys, until every node shows the new one (jeton cluster status shows that)")
)

// Reload reads the file again and puts its secrets in force, all or, if anything is wrong, none. It refuses a file by which this node
// could cut itself off from others that are one step behind or ahead: the secret that is shown must still be accepted, and the one
// that is to be shown must have been accepted before. The error never shows a secret.
//
// Connections that stand on what was dropped are closed: see [Key.Hold].
func (k *Key) Reload() (changed bool, err error) {
	if k.file == "" {
		return false, nil
	}
	k.reloading.Lock()
	defer k.reloading.Unlock()
	next, err := readFile(k.file, k.insecure)
	if err != nil {
		return false, err
	}
	return k.put(next)
}

// put puts secrets in force. Those that were in force already keep what is noted about them.
func (k *Key) put(next []*one) (changed bool, err error) {
	now := k.all()
	changed = len(next) != len(now)
	for i, o := range next {
		at := o.in(now)
		if at >= 0 {
			next[i] = now[at]
		}
		changed = changed || at != i
	}
	switch {
	case !changed:
		return false, nil
	case now[0].in(next) < 0:
		return false, errStillShown
	case next[0].in(now) < 0:
		return false, errNotKnown
	}
	k.current.Store(&next)
	k.mu.Lock()
	var listeners []func()
	for f := range k.listeners {
		listeners = append(listeners, *f)
	}
	k.mu.Unlock()
	for _, f := range listeners {
		f()
	}
	k.conns.cutOutdated(next)
	return true, nil
}

// OnChange has f called after each change of the secrets in force, one call at a time, until stop is called.
func (k *Key) OnChange(f func()) (stop func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.listeners == nil {
		k.listeners = map[*func()]struct{}{}
	}
	k.listeners[&f] = struct{}{}
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.listeners, &f)
	}
}
