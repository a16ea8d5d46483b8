package doorcalls

import (
	"context"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Domain is the one that RLS asks for: a rule of it has the name of a limit as its key, and no value.
const Domain = "doorcalls"

// RLS asks Envoy's rate limit service.
type RLS struct {
	conn   *grpc.ClientConn
	client ratelimitv3.RateLimitServiceClient
}

// NewRLS makes an RLS.
func NewRLS(address string, dial Dial) (*RLS, error) {
	conn, err := connect(address, dial)
	if err != nil {
		return nil, err
	}
	return &RLS{conn, ratelimitv3.NewRateLimitServiceClient(conn)}, nil
}

// Check implements limit.Checker. The rule decides that has the name of the limit. As for Envoy, the code is all that counts.
func (r *RLS) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	m := &ratelimitv3.RateLimitRequest{Domain: Domain, Descriptors: []*commonv3.RateLimitDescriptor{{
		Entries:    []*commonv3.RateLimitDescriptor_Entry{{Key: q.Limits[0].Name, Value: q.Key}},
		HitsAddend: wrapperspb.UInt64(uint64(q.Tokens())),
	}}}
	a, err := r.client.ShouldRateLimit(ctx, m)
	switch code := a.GetOverallCode(); {
	case err != nil:
		return limit.Decision{}, undecided(err)
	case code == ratelimitv3.RateLimitResponse_UNKNOWN:
		return limit.Decision{}, fmt.Errorf("%s is answered %v", m, a)
	default:
		return decided(&q, code == ratelimitv3.RateLimitResponse_OK)
	}
}

// Close closes the connection.
func (r *RLS) Close() error { return r.conn.Close() }

// KeyHeader is the header in which ExtAuthz says the key.
const KeyHeader = "x-key"

// ExtAuthz asks Envoy's external authorization, which lets one request through, or not. The path of the request is the name of the limit.
type ExtAuthz struct {
	conn   *grpc.ClientConn
	client authv3.AuthorizationClient
}

// NewExtAuthz makes an ExtAuthz.
func NewExtAuthz(address string, dial Dial) (*ExtAuthz, error) {
	conn, err := connect(address, dial)
	if err != nil {
		return nil, err
	}
	return &ExtAuthz{conn, authv3.NewAuthorizationClient(conn)}, nil
}

// Check implements limit.Checker, for one token.
func (e *ExtAuthz) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	m := &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Source: &authv3.AttributeContext_Peer{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "192.0.2.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 4711},
		}}}},
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: "GET", Scheme: "http", Host: "api.example", Path: "/" + q.Limits[0].Name, Protocol: "HTTP/1.1",
			Headers: map[string]string{":authority": "api.example", ":method": "GET", ":path": "/" + q.Limits[0].Name, KeyHeader: q.Key},
		}},
	}}
	a, err := e.client.Check(ctx, m)
	switch denied := a.GetDeniedResponse().GetStatus().GetCode(); {
	case err != nil:
		return limit.Decision{}, undecided(err)
	case codes.Code(uint32(a.GetStatus().GetCode())) == codes.OK:
		return decided(&q, true)
	case denied == typev3.StatusCode_TooManyRequests:
		return decided(&q, false)
	case denied == typev3.StatusCode_ServiceUnavailable:
		return limit.Decision{}, limit.ErrUnavailable
	default:
		return limit.Decision{}, fmt.Errorf("%s is answered %v", m, a)
	}
}

// Close closes the connection.
func (e *ExtAuthz) Close() error { return e.conn.Close() }
