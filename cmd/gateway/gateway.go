// Package gateway is the process of a gateway: the command "jeton gateway" is one call of [Open] and one of [Gateway.Run]. It
// reads the document, gateway.yaml, and opens the clients of its clusters, the gateway itself and its listeners, in the order in
// which they need one another; it closes them in reverse. While it runs it follows the document and the files that the document
// names, and answers operators at the admin listener.
//
// The package gateway at the top of the repository decides about requests; here it is imported as core.
//
// The goroutines of a gateway, and what ends them:
//
//	tracing   the exporter's queue, gRPC's      Gateway.Close, at the very end, after what is left was sent
//	access    1 that writes the access log      Gateway.Close, just before that
//	telling   1 that tells the cluster          Gateway.Close, before the core
//	clients   gRPC's, by connection,            Client.Close, after the core
//	          and the client's, by node
//	core      those that fetch JWT keys, give   core.Gateway.Close, after the servers have stopped
//	          tokens back, make shadow checks,
//	          and probe instances that are down
//	http      net/http's, by connection         front.Stop: when it is done, or cut off at the deadline
//	process   1 for each listener               end with their server
//	          the caller's own, in Run          end of Run
package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	core "github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/accesslog"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/internal/tracing"
	"github.com/jeton-dev/jeton/rpc/doors"
)

// A Gateway is a running gateway.
type Gateway struct {
	cfg     Config
	now     atomic.Pointer[setup] // what is in force
	metrics *prometheus.Registry
	counts  metrics

	listeners *bound.Metrics

	tracing  *tracing.Tracing
	access   *accesslog.Log // nil for none
	clusters []*cluster     // the one without a name first, if there is one
	gateway  *core.Gateway

	proxy, forwardAuth, admin *front // the first two are nil where the document has none
	foreign                   []*protocolDoor
	services                  []doors.Service // that speak gRPC, of foreign

	following following // the file on disk
	opened    time.Time

	doors    *door.Doors  // the fronts
	closers  door.Closers // everything else
	stop     sync.Once
	stopping chan struct{} // closed when the gateway is to stop
}

// ProxyAddr is the address at which the proxy takes requests; empty without one.
func (e *Gateway) ProxyAddr() string { return e.proxy.Addr() }

// ForwardAuthAddr is the address at which other proxies ask; empty without one.
func (e *Gateway) ForwardAuthAddr() string { return e.forwardAuth.Addr() }

// DoorsAddr is the address of the doors that speak gRPC, and RedisAddr that of the one for Redis' protocol; empty without one.
func (e *Gateway) DoorsAddr() string { return e.foreignAt(grpcField).Addr() }

// RedisAddr is the address for clients that speak Redis' protocol; empty without one.
func (e *Gateway) RedisAddr() string { return e.foreignAt(redisField).Addr() }

// AdminAddr is the address for operators.
func (e *Gateway) AdminAddr() string { return e.admin.Addr() }

// Failed is closed when the gateway cannot go on: a listener has failed. Err says how. The gateway is then to be closed.
func (e *Gateway) Failed() <-chan struct{} { return e.doors.Failed() }

// Err is why the gateway has failed.
func (e *Gateway) Err() error { return e.doors.Err() }

// Close stops the gateway: it is not ready any more at once, takes nothing new, and answers what is under way. When ctx
// ends, what is still under way is cut off, streams and upgraded connections too. The admin listener goes last, so that
// it can be watched. What Close returns is what could not be closed.
func (e *Gateway) Close(ctx context.Context) error {
	e.stop.Do(func() { close(e.stopping) })
	e.doors.Stop(ctx)
	return e.closers.Close(ctx)
}
