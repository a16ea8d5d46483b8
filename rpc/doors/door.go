package doors

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Config is what doors are made of. Each takes what it needs.
type Config struct {
	// Limiter decides. Required.
	Limiter limit.Limiter
	// Limits are the stored limits in force, nil while they are not known. Required.
	Limits func() *limit.Document
	// Ready says why nothing can be decided at present, and nil if it can; and Nodes how many nodes decide. Nil: it always can, and there is one. gubernator's clients ask for both.
	Ready func() error
	Nodes func() int
	// KeepsBuckets refuses calls of gubernator's clients that fill buckets, where only operators may.
	KeepsBuckets bool
	// RLSConfig is the directory with the configuration of rls, which needs it.
	RLSConfig string
	// RLSHeaders adds headers with the limit, what remains and when it is full to answers of rls, and RLSMetadata dynamic metadata.
	RLSHeaders, RLSMetadata bool
	// KuadrantConfig is the file with the limits of kuadrant, or a directory with several, which it needs.
	KuadrantConfig string
	// Authorize answers whether the request that its headers describe may pass, as forward_auth of a gateway does. It is what extauthz needs, and a node does not have it.
	Authorize http.Handler
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger logs faults of doors; nil discards them.
	Logger *slog.Logger
}

// A Service is an open door. One that is an [io.Closer] too is closed when nobody calls it any more.
type Service interface {
	Register(r grpc.ServiceRegistrar)
}

// A WebService is an open door that answers HTTP too.
type WebService interface {
	Service
	// Handler answers requests to Paths.
	Handler() http.Handler
	Paths() []string
}

// A FileService is an open door that follows files.
type FileService interface {
	Service
	// Problem says what is wrong with the files, in one line; empty if nothing is.
	Problem() string
}

// An opener makes a door, from a cfg that has what the door needs. Its error says what is wrong.
type opener func(cfg Config) (Service, error)

// A door is a line of the list.
type door struct {
	name  string
	open  opener
	lacks func(cfg *Config) string // what the door needs that cfg does not have, and who gives it; empty for nothing. Nil: it needs nothing.
}
