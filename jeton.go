// Package jeton limits rates, for one process or for a whole fleet, with limits that hold. It is what a Go program imports:
//
//	cluster, err := jeton.Dial(jeton.Config{Servers: []string{"a:7700", "b:7700"}})
//	…
//	d, err := cluster.Check(ctx, jeton.Request{Key: "user:42", Limits: []jeton.Ref{jeton.Named("login")}})
//	switch {
//	case err != nil: // no decision: the program chooses whether the user passes
//	case !d.Allowed: // denied: d.RetryAfterSeconds says when the same request would pass
//	}
//
// Start with [Dial], which returns a [Client] of a cluster. A program that has no cluster runs a [Node] inside itself, with
// [Open], and asks it the same questions: both are a [Limiter]. [Middleware] and the interceptors put the limits of a gateway's
// document in front of an HTTP handler or a gRPC service.
//
// A node brings its storage engine, raft and gossip with it. A program that wants none of them in its binary imports the
// packages that these names stand for: [github.com/jeton-dev/jeton/rpc/client] and [github.com/jeton-dev/jeton/gateway]
// link nothing of a node.
//
// # The promise
//
// A limit is a token bucket with a capacity C and a refill rate r. For every key and limit, and every window of time, the
// admissions in the window cost at most C + r × (length of the window) + 2 × r × ε, with the clock of the deciding node
// within ε of true time. That holds through kill -9, frozen processes, network partitions, power cuts, lost disks, and nodes
// that join and leave. A failure can make a limit stricter for a moment, and never looser.
//
// # Errors
//
// A denial is a [Decision], not an error. An error means that no decision was made: a [*FieldError] for a request that can
// never be decided, [ErrUnknownLimit], [ErrOverloaded], [ErrUnavailable], or the error of the context. After one of the last
// three kinds the cost may have been charged or not: a [Request] with an ID can be sent again within 31 seconds, and the
// owner that has charged it does not charge it twice. What becomes of a user for whom there is no decision is the program's
// choice.
//
// # What it is made of
//
// Every name here is one of another package, where its methods are documented: the vocabulary in
// [github.com/jeton-dev/jeton/actor/limit], the client in [github.com/jeton-dev/jeton/rpc/client], the node in
// [github.com/jeton-dev/jeton/cmd/node], the gateway in [github.com/jeton-dev/jeton/gateway].
package jeton

import (
	"net/http"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/storage"
)

// The questions, and who answers them.
type (
	// A Checker decides checks: a [Client] and a [Node] are Checkers.
	Checker = limit.Checker
	// A BatchChecker is a Checker that decides many requests in one call.
	BatchChecker = limit.BatchChecker
	// An AllChecker is a Checker that decides the requests of several keys as one: all are admitted, or none is charged.
	AllChecker = limit.AllChecker
	// A Limiter answers everything that can be asked of jeton: it also takes admissions back, shows buckets and fills them.
	Limiter = limit.Limiter

	// A Request is one check: may a key spend so many tokens of each of these limits?
	Request = limit.Request
	// A Ref says which limit is meant; [Named] and [Inline] make one.
	Ref = limit.Ref
	// A Decision answers a Request.
	Decision = limit.Decision
	// An Outcome is what one limit of a Request says.
	Outcome = limit.Outcome
	// A Result is one answer of a BatchChecker: a Decision or an error.
	Result = limit.Result
	// An AllDecision answers the Requests of an AllChecker.
	AllDecision = limit.AllDecision
	// A Denial says which limit of which key denied them.
	Denial = limit.Denial
	// A Receipt proves an admission, and gives it back.
	Receipt = limit.Receipt
)

// Costs that are known only afterwards.
type (
	// A Settler is told what became of its holds: a [Client] and a [Node] are Settlers.
	Settler = limit.Settler
	// A Hold is what a Request with a Hold has taken for a time. Its text is for other programs; [ParseHold] reads it.
	Hold = limit.Hold
	// A Settlement says how many tokens of a Hold were used.
	Settlement = limit.Settlement
	// A Settled answers a Settlement.
	Settled = limit.Settled
	// A SettledLimit is what a Settlement came to for one limit.
	SettledLimit = limit.SettledLimit
)

// What a limit is.
type (
	// A Limit is a named rule: a capacity, a refill, and what a gateway does when there is no decision.
	Limit = limit.Limit
	// A Refill is how fast a bucket fills, such as 100 tokens a minute.
	Refill = limit.Refill
	// A Reserve is how much of a bucket its owner may take beyond what checks need, in percent of the capacity. The zero Reserve means 5.
	Reserve = limit.Reserve
	// A Policy is what a gateway does when there is no decision.
	Policy = limit.Policy
	// A Consistency is who decides the checks of a limit: the owner of a key, or gateways and clients.
	Consistency = limit.Consistency
	// A Share is how much of a limit that is local each gateway and client has.
	Share = limit.Share
	// Hot is what becomes of a bucket whose key has a large part of the checks of its node.
	Hot = limit.Hot
)

// The consistencies of a Limit. The zero Consistency means Strong.
const (
	Strong   = limit.Strong   // the owner of the key decides every check
	Leased   = limit.Leased   // gateways and clients decide by tokens that they have taken ahead
	Eventual = limit.Eventual // they decide by what they last heard, and report what they admitted
	OfEdge   = limit.OfEdge   // each has a bucket of its own; documents call it local
)

// The policies of a Limit. The zero Policy means Allow.
const (
	Allow = limit.Allow // let the request through
	Deny  = limit.Deny  // refuse it
	Local = limit.Local // decide by a bucket in the gateway's memory
)

// LeaseHot is the Hot of a limit about whose hot keys gateways and clients decide as about those of Leased limits.
const LeaseHot = limit.LeaseHot

// ReserveExact is the Reserve of a limit of whose buckets nothing is taken beyond what checks need.
const ReserveExact = limit.ReserveExact

// A FieldError says which field of a request or of a document is wrong, and how.
type FieldError = limit.FieldError

// An UndecidedError says of which limits of a check there is no decision, where a client has decided the others by itself. What these took is kept.
type UndecidedError = limit.UndecidedError

// The errors of a Checker. None of them is a denial.
var (
	// ErrUnknownLimit means that the request names a limit that the cluster does not have.
	ErrUnknownLimit = limit.ErrUnknownLimit
	// ErrUnknownHold means that no limit knows the hold that is settled any more. The settlement charged nothing; a hold that
	// expired stays charged as its limit says.
	ErrUnknownHold = limit.ErrUnknownHold
	// ErrUnavailable means that no node could decide.
	ErrUnavailable = limit.ErrUnavailable
	// ErrOverloaded means that the node, or the client, refuses work that exceeds its bounds.
	ErrOverloaded = limit.ErrOverloaded
	// ErrUnauthenticated means that the caller has not proved that it may do this.
	ErrUnauthenticated = limit.ErrUnauthenticated
)

// Named refers to a limit of the cluster's limits document.
func Named(name string) Ref { return limit.Named(name) }

// Inline refers to a limit that the request defines.
func Inline(l Limit) Ref { return limit.Inline(l) }

// ParseHold reads the text of a hold, as it was answered. Its error is a [*FieldError].
func ParseHold(text string) (Hold, error) { return limit.ParseHold(text) }

// ParseRefill reads a refill such as "5/s", "100/1m" or "1/1.5s". Its error is a [*FieldError].
func ParseRefill(text string) (Refill, error) { return limit.ParseRefill(text) }

// A cluster from outside.
type (
	// A Client asks a cluster: each key's owner first, and the next replica when that fails. It is a [Limiter], safe for
	// concurrent use.
	Client = client.Client
	// A Config says how to reach a cluster. Only Servers is required.
	Config = client.Config
)

// Dial makes a Client of a cluster, which must be closed. It does not wait for a connection: a check does. Its error says
// which field of cfg is wrong.
func Dial(cfg Config) (*Client, error) { return client.New(cfg) }

// A node inside this program, as "jeton serve" runs one in a process of its own.
type (
	// A Node is a running node: a [Limiter], safe for concurrent use.
	Node = node.Node
	// A NodeConfig says what a node is. Only Data is required: the node is then alone, and listens nowhere. With ListenGossip,
	// ListenRaft and Join it is a member of a cluster.
	NodeConfig = node.Config
)

// The values of NodeConfig.Durability. The zero value means Fsync.
const (
	Fsync  = storage.Fsync  // a decision is on disk before it is answered
	Memory = storage.Memory // it is not; after a crash every bucket counts as empty
)

// Open starts a Node, which must be closed. A node that is alone can decide when Open returns; a member of a cluster can as
// soon as Ready returns nil. Its error names the option that is wrong and says what would be right.
func Open(cfg NodeConfig) (*Node, error) { return node.Open(cfg) }

// The limits of an HTTP or gRPC service.
type (
	// A Gateway decides which requests of a service pass, as its document says: who is asking, which limits apply, and what
	// clients learn from the answer.
	Gateway = gateway.Gateway
	// A GatewayConfig says what a Gateway is made of.
	GatewayConfig = gateway.Config
	// A GatewayCluster decides checks that name it: a cluster of another region, beside the one that a Gateway asks otherwise.
	GatewayCluster = gateway.Cluster
	// A Document configures a Gateway.
	Document = config.Document
)

// ReadDocument reads the document of a gateway from a file. Its error names the line and the field.
func ReadDocument(path string) (*Document, error) { return config.Read(path) }

// NewGateway makes a Gateway, which must be closed.
func NewGateway(cfg GatewayConfig) (*Gateway, error) { return gateway.New(cfg) }

// Middleware puts g in front of a handler: g answers what does not pass, and sets the limit headers of what passes.
func Middleware(g *Gateway) func(http.Handler) http.Handler { return gateway.Middleware(g) }

// UnaryInterceptor puts g in front of the unary calls of a gRPC service. A call that is denied ends with ResourceExhausted; the details
// of that status say when it passes and which limits deny, for callers that send the metadata jeton-denials: error.
func UnaryInterceptor(g *Gateway) grpc.UnaryServerInterceptor { return gateway.UnaryInterceptor(g) }

// StreamInterceptor puts g in front of the streams of a gRPC service.
func StreamInterceptor(g *Gateway) grpc.StreamServerInterceptor {
	return gateway.StreamInterceptor(g)
}
