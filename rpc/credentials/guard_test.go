package credentials

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
)

// A method that the table does not name is not served: nobody has said who may call it.
func TestEveryMethodIsInTheTable(t *testing.T) {
	guard := &Guard{Server: grpc.NewServer()}
	guard.RegisterService(&grpc.ServiceDesc{
		ServiceName: "jeton.v1.Limiter", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Check"}, {MethodName: "Refill"}},
		Streams: []grpc.StreamDesc{{StreamName: "CheckStream"}, {StreamName: "Refills"}},
	}, 0)
	const want = "[/jeton.v1.Limiter/Refill /jeton.v1.Limiter/Refills] are missing in the table"
	if err := guard.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}
