package extauthz

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"golang.org/x/net/http/httpguts"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ofMessage are headers that describe how an answer is sent over one connection. The proxy writes its own.
var ofMessage = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// allows says whether the answer lets the request pass.
func (w *recorder) allows() bool { return w.status/100 == 2 }

// outcome is what the metrics say of the answer.
func (w *recorder) outcome() outcome {
	switch {
	case w.allows():
		return outcomeAllowed
	case w.status >= 500:
		return outcomeUnavailable
	}
	return outcomeDenied
}

// response is the answer as the proxy reads it. Of a request that passes, the proxy removes the headers with the names in remove.
func (w *recorder) response(remove []string) *authv3.CheckResponse {
	if w.allows() {
		return &authv3.CheckResponse{
			Status:       &rpcstatus.Status{Code: int32(codes.OK)},
			HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{ResponseHeadersToAdd: w.options(), HeadersToRemove: remove}},
		}
	}
	return &authv3.CheckResponse{
		Status: &rpcstatus.Status{Code: int32(codeOf(w.status))},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
			Status:  &typev3.HttpStatus{Code: typev3.StatusCode(w.status)}, //nolint:gosec // three digits, as http.ResponseWriter demands
			Headers: w.options(),
			Body:    strings.ToValidUTF8(string(w.body), "\uFFFD"),
		}},
	}
}

// options are the header fields of the answer, in the order of their names. The first line of a name overwrites what is there, the
// others are added.
func (w *recorder) options() []*corev3.HeaderValueOption {
	var all []*corev3.HeaderValueOption
	for _, name := range slices.Sorted(maps.Keys(w.sent)) {
		if slices.Contains(ofMessage, name) || !httpguts.ValidHeaderFieldName(name) || w.tooLong && name == "Content-Type" {
			continue
		}
		action := corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
		for _, value := range w.sent[name] {
			all = append(all, &corev3.HeaderValueOption{
				Header: &corev3.HeaderValue{Key: strings.ToLower(name), Value: printable(value)},
				// Versions of Envoy read the one or the other.
				Append:       wrapperspb.Bool(action == corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD), //nolint:staticcheck // see above
				AppendAction: action,
			})
			action = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		}
	}
	return all
}

// printable is the value of a header with spaces for control characters, as net/http writes line breaks, and in UTF-8, as protobuf
// demands.
func printable(value string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f {
			return ' '
		}
		return c
	}, value)
}

// codeOf is the gRPC status of a denial. Envoy looks only whether it is OK.
func codeOf(status int) codes.Code {
	switch {
	case status == http.StatusUnauthorized:
		return codes.Unauthenticated
	case status == http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case status >= 500:
		return codes.Unavailable
	}
	return codes.PermissionDenied
}
