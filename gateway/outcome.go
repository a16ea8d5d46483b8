package gateway

import (
	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// An outcome is what became of a request.
type outcome int

const (
	admitted    outcome = iota // by every check
	unlimited                  // no limit applies
	exempted                   // by a token, a network or a path
	preflight                  // answered by the gateway, at no cost
	unasked                    // let through although no decision could be had
	denied                     // by a limit
	unavailable                // refused because no decision could be had
	forbidden                  // on a deny list
	nobody                     // it is not known who asks, and that counts
	unproved                   // it shows a token or an API key that does not count, and that counts
	overloaded                 // too much was under way
	crowded                    // too much of the same client was under way
	badRequest                 // it cannot be read in one way
	canceled                   // the client left meanwhile
	// Those below are no decisions.
	tooLarge       // its body
	notFound       // the proxy has nobody to pass it to
	upstreamFailed // nobody has answered
	upstreamLate   // nor in time
	bodyLate       // the client has not sent its body in time
	outcomes       = iota
)

// An outcomeKind is what an outcome is called, and how clients are told.
type outcomeKind struct {
	name   string
	passes bool
	answer answer.Kind
	grpc   codes.Code
}

// kindOf tells of every outcome.
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
	case unasked:
		return outcomeKind{name: "allowed_unasked", passes: true}
	case denied:
		return outcomeKind{"denied", false, answer.Exceeded, codes.ResourceExhausted}
	case unavailable:
		return outcomeKind{"unavailable", false, answer.Unavailable, codes.Unavailable}
	case forbidden:
		return outcomeKind{"forbidden", false, answer.Forbidden, codes.PermissionDenied}
	case nobody:
		return outcomeKind{"nobody", false, answer.Nobody, codes.Unauthenticated}
	case unproved:
		return outcomeKind{"bad_credentials", false, answer.BadCredentials, codes.Unauthenticated}
	case overloaded:
		return outcomeKind{"overloaded", false, answer.Overloaded, codes.Unavailable}
	case crowded:
		return outcomeKind{"crowded", false, answer.Crowded, codes.ResourceExhausted}
	case badRequest:
		return outcomeKind{"bad_request", false, answer.BadRequest, codes.InvalidArgument}
	case tooLarge:
		return outcomeKind{"too_large", false, answer.TooLarge, codes.ResourceExhausted}
	case notFound:
		return outcomeKind{"not_found", false, answer.NotFound, codes.Unimplemented}
	case upstreamFailed:
		return outcomeKind{"upstream_failed", false, answer.BadGateway, codes.Unavailable}
	case upstreamLate:
		return outcomeKind{"upstream_late", false, answer.GatewayTimeout, codes.DeadlineExceeded}
	case bodyLate:
		return outcomeKind{"body_late", false, answer.BodyTimeout, codes.DeadlineExceeded}
	default:
		return outcomeKind{name: "canceled", grpc: codes.Canceled}
	}
}

func (o outcome) String() string    { return kindOf(o).name }
func (o outcome) passes() bool      { return kindOf(o).passes }
func (o outcome) kind() answer.Kind { return kindOf(o).answer }
func (o outcome) code() codes.Code  { return kindOf(o).grpc }

// remembered says whether a refusal is worth a place in the memory: whoever can be told apart by it was let down.
func (o outcome) remembered() bool {
	return o == denied || o == unavailable || o == forbidden || o == nobody || o == unproved
}
