package pb

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What grpc says of connections reaches people without what only grpc's authors can use.
func TestErrorsOfConnectionsArePlain(t *testing.T) {
	for said, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:7700: connect: connection refused"`:                  "cannot connect: connection refused",
		`connection error: desc = "transport: Error while dialing: dial tcp [::1]:7700: i/o timeout"`:                                      "cannot connect: i/o timeout",
		`connection error: desc = "transport: Error while dialing: dial tcp: lookup a: no such host"`:                                      "cannot connect: dial tcp: lookup a: no such host",
		`connection error: desc = "transport: authentication handshake failed: the other end does not have this cluster key"`:              "cannot connect: the other end does not have this cluster key",
		`connection error: desc = "error reading server preface: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"`:       "cannot connect: connection reset by peer",
		`connection error: desc = "error reading server preface: raw-read tcp 127.0.0.1:1->127.0.0.1:2: use of closed network connection"`: "cannot connect: the other end says nothing: its process may be frozen",
		`connection error: desc = "error reading server preface: read tcp 127.0.0.1:1->127.0.0.1:2: use of closed network connection"`:     "cannot connect: the other end says nothing: its process may be frozen",
		"error reading from server: EOF": "the connection broke",
		"error reading from server: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer": "the connection broke: connection reset by peer",
		"stream terminated by RST_STREAM with error code: CANCEL":                                      "the node aborted the call",
		"no decision available: the node is stopping":                                                  "no decision available: the node is stopping",
		`connection error: desc = broken`:                                                              `connection error: desc = broken`,
	} {
		if got := DecodeError(status.Error(codes.Unavailable, said)).Error(); got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}
