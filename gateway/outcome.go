package gateway

import (
	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// An outcome is what became of a request.
type outcome int

const (
	admitted          outcome = iota // by every check
	unlimited                        // no limit applies
	exempted                         // by a token, a network or a path
	preflight                        // answered by the gateway, at no cost
	failOpen                         // let through without a decision
	denied                           // by a limit
	unavailable                      // refused because there was no decision
	forbidden                        // on a deny list
	unidentified                     // without credentials, where the check needs some
	badCredentials                   // with an invalid token or API key, where the document refuses that
	overloaded                       // too many concurrent requests
	tooManyConcurrent                // of the same client
	badRequest                       // ambiguous
	canceled                         // the client left before the decision, or while it was held
	stopping                         // the gateway stops before the request may begin
	// Those below are no decisions.
	tooLarge        // its body
	notFound        // no route, or one without an upstream
	upstreamFailed  // no answer
	upstreamTimeout // no answer in time
	clientTimeout   // the client's own deadline passed before the upstream was asked
	bodyTimeout     // the client has not sent its body in time
	outcomes        = iota
)

// An outcomeKind is the name of an outcome, and how it is answered.
type outcomeKind struct {
	name   string
	passes bool
	answer answer.Kind
	grpc   codes.Code
}

// kindOf describes each outcome.
func kindOf(o outcome) outcomeKind {
	switch o {
	case admitted:
		return outcomeKind{name: "admitted", passes: true}
	case unlimited:
		return outcomeKind{name: "unlimited", passes: true}
	case exempted:
		return outcomeKind{name: "exempt", passes: true}
	case preflight:
		return outcomeKind{name: "preflight"}
	case failOpen:
		return outcomeKind{name: "fail_open", passes: true}
	case denied:
		return outcomeKind{"denied", false, answer.Exceeded, codes.ResourceExhausted}
	case unavailable:
		return outcomeKind{"unavailable", false, answer.Unavailable, codes.Unavailable}
	case forbidden:
		return outcomeKind{"forbidden", false, answer.Forbidden, codes.PermissionDenied}
	case unidentified:
		return outcomeKind{"unidentified", false, answer.Unidentified, codes.Unauthenticated}
	case badCredentials:
		return outcomeKind{"bad_credentials", false, answer.BadCredentials, codes.Unauthenticated}
	case overloaded:
		return outcomeKind{"overloaded", false, answer.Overloaded, codes.Unavailable}
	case tooManyConcurrent:
		return outcomeKind{"too_many_concurrent", false, answer.TooManyConcurrent, codes.ResourceExhausted}
	case badRequest:
		return outcomeKind{"bad_request", false, answer.BadRequest, codes.InvalidArgument}
	case stopping:
		return outcomeKind{"stopping", false, answer.Overloaded, codes.Unavailable}
	case tooLarge:
		return outcomeKind{"too_large", false, answer.TooLarge, codes.ResourceExhausted}
	case notFound:
		return outcomeKind{"not_found", false, answer.NotFound, codes.Unimplemented}
	case upstreamFailed:
		return outcomeKind{"upstream_failed", false, answer.BadGateway, codes.Unavailable}
	case upstreamTimeout:
		return outcomeKind{"upstream_timeout", false, answer.GatewayTimeout, codes.DeadlineExceeded}
	case clientTimeout:
		return outcomeKind{"client_timeout", false, answer.GatewayTimeout, codes.DeadlineExceeded}
	case bodyTimeout:
		return outcomeKind{"body_timeout", false, answer.BodyTimeout, codes.DeadlineExceeded}
	default:
		return outcomeKind{name: "canceled", grpc: codes.Canceled}
	}
}

func (o outcome) String() string    { return kindOf(o).name }
func (o outcome) passes() bool      { return kindOf(o).passes }
func (o outcome) kind() answer.Kind { return kindOf(o).answer }
func (o outcome) code() codes.Code  { return kindOf(o).grpc }

// remembered reports whether a refusal is kept in the memory of denials: those that a client may ask about.
func (o outcome) remembered() bool {
	return o == denied || o == unavailable || o == forbidden || o == unidentified || o == badCredentials
}
