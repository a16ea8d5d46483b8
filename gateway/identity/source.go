package identity

import "github.com/jeton-dev/jeton/internal/alias"

// place is the part of a request that a source is in.
type place uint8

const (
	inHeader place = iota + 1
	inCookie
	inQuery
)

// A source is a header, cookie or parameter by which the document identifies clients. The service behind the gateway may read it
// too, and must find the same client there.
type source struct {
	place   place
	name    string // of a header, canonical
	usual   string // [alias.Header] of that
	trusted bool   // counts only from trusted proxies
	token   bool   // may hold a token (JWT)
}

// sourced returns the sources noted so far. The list is replaced and never changed, so that requests read it without a lock.
func (f *Finder) sourced() []source {
	if list := f.sources.Load(); list != nil {
		return *list
	}
	return nil
}

// note adds a source to those that [Facts.Contradiction] looks at.
func (f *Finder) note(s source) {
	if s.place == inHeader {
		s.usual = alias.Header(s.name)
	}
	f.noting.Lock()
	defer f.noting.Unlock()
	old := f.sourced()
	list := make([]source, 0, len(old)+1)
	known := false
	for _, o := range old {
		if o.place == s.place && o.name == s.name && o.trusted == s.trusted {
			known = true
			o.token = o.token || s.token
		}
		list = append(list, o)
	}
	if !known {
		list = append(list, s)
	}
	f.sources.Store(&list)
}

// noteIdentity adds the sources of tokens and API keys, which count even if no template has a variable for them.
func (f *Finder) noteIdentity() {
	for _, is := range f.issuers {
		f.note(source{place: inHeader, name: is.header, token: true})
		if is.cookie != "" {
			f.note(source{place: inCookie, name: is.cookie, token: true})
		}
	}
	if f.apiKeys != nil && f.apiKeys.header != "" {
		f.note(source{place: inHeader, name: f.apiKeys.header})
	}
	if f.apiKeys != nil && f.apiKeys.query != "" {
		f.note(source{place: inQuery, name: f.apiKeys.query})
	}
}

// aliased is the source among these for whose header some services take the named one, though it is called otherwise; nil for none. The headers of
// trusted proxies are asked about with forward-auth only: otherwise the gateway itself removes what is called otherwise.
func aliased(list []source, name string, fromProxy bool) *source {
	usual := alias.Header(name)
	for i := range list {
		if s := &list[i]; s.place == inHeader && s.usual == usual && s.name != name && (!s.trusted || fromProxy) {
			return s
		}
	}
	return nil
}
