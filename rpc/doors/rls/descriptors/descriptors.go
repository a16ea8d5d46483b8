// Package descriptors reads the YAML files of Envoy's rate limit service (envoyproxy/ratelimit) and finds the rule of a request's
// descriptor. A file that the service takes means the same here, but for what Notes lists; a mistake is a [Problem] with its
// file, line and field. Nothing here has a clock or does I/O: who calls reads the files.
//
// A server of configurations sends the same as resources.
//
// Start with [Parse] or [Take], which make [Domains], and [Domain.Match].
package descriptors

// A File is the text of one file, which describes one domain.
type File struct {
	Name string // as problems name it
	Text []byte
}

// Domains are what a set of files says. They do not change.
type Domains struct {
	Rules []*Rule // of all domains; each Rule's Index is its place
	// Notes are what means something else than the files may make believe, or has no effect.
	Notes []Problem

	byName map[string]*Domain
}

// A Domain is the rules of one file.
type Domain struct {
	Name string

	top *level
}

// Domain is the one with that name, or nil.
func (ds *Domains) Domain(name string) *Domain { return ds.byName[name] }

// Len is how many domains there are.
func (ds *Domains) Len() int { return len(ds.byName) }
