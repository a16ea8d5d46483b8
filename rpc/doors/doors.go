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

// Open opens the doors of these names. The error names the one that is wrong; then none is open.
func Open(names []string, cfg Config) (services []Service, err error) {
	for i, name := range names {
		at := slices.IndexFunc(all(), func(d door) bool { return d.name == name })
		switch {
		case at < 0:
			err = fmt.Errorf("unknown door %q: use %s", name, strings.Join(cfg.names(), ", "))
		case slices.Contains(names[:i], name):
			err = fmt.Errorf("door %s is given twice: leave one out", name)
		default:
			var s Service
			if s, err = all()[at].open(cfg); err == nil {
				services = append(services, s)
				continue
			}
			err = fmt.Errorf("door %w", err) // which begins with the name
		}
		return nil, errors.Join(err, Close(services))
	}
	return services, nil
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
