// Package doors lists the protocols of other systems that a node and a gateway speak over gRPC. Each is a package under it, and a line of the list; it is decided by the same
// buckets as a check of jeton.v1. None is open unless its name is given.
//
// Start with [Open].
package doors

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc"
)

// Names are those of all doors.
func Names() []string {
	var names []string
	for _, d := range all() {
		names = append(names, d.name)
	}
	return names
}

// Check says which of these names is wrong, or what cfg does not have that its door needs. It opens nothing and reads no file.
func Check(names []string, cfg Config) error {
	for i, name := range names {
		at := indexOf(name)
		switch {
		case at < 0:
			return fmt.Errorf("unknown door %q: use %s", name, strings.Join(cfg.names(), ", "))
		case slices.Contains(names[:i], name):
			return fmt.Errorf("door %s is given twice: leave one out", name)
		}
		if lacks := all()[at].lacks; lacks != nil && lacks(&cfg) != "" {
			return fmt.Errorf("door %s: needs %s", name, lacks(&cfg))
		}
	}
	return nil
}

// Open opens the doors of these names. The error names the one that is wrong; then none is open.
func Open(names []string, cfg Config) (services []Service, err error) {
	if err := Check(names, cfg); err != nil {
		return nil, err
	}
	for _, name := range names {
		s, err := all()[indexOf(name)].open(cfg)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("door %w", err), Close(services)) // the error begins with the name
		}
		services = append(services, s)
	}
	return services, nil
}

// indexOf is where a door stands in the list; below 0 for none.
func indexOf(name string) int {
	return slices.IndexFunc(all(), func(d door) bool { return d.name == name })
}

// Register is what registers open doors at a server; nil for none.
func Register(services []Service) func(grpc.ServiceRegistrar) {
	if len(services) == 0 {
		return nil
	}
	return func(r grpc.ServiceRegistrar) {
		for _, s := range services {
			s.Register(r)
		}
	}
}

// Problems say what is wrong with the files of open doors, a line for each door.
func Problems(services []Service) (all []string) {
	for _, s := range services {
		if f, ok := s.(FileService); ok {
			if problem := f.Problem(); problem != "" {
				all = append(all, problem)
			}
		}
	}
	return all
}

// Close closes open doors.
func Close(services []Service) error {
	var errs []error
	for _, s := range services {
		if c, ok := s.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Web answers requests to the paths of open doors, and leaves all others to next.
func Web(services []Service, next http.Handler) http.Handler {
	byPath := map[string]http.Handler{}
	for _, s := range services {
		if w, ok := s.(WebService); ok {
			h := w.Handler()
			for _, path := range w.Paths() {
				byPath[path] = h
			}
		}
	}
	if len(byPath) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := byPath[r.URL.EscapedPath()]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
