package process

import (
	"os/exec"
	"regexp"
	"testing"
)

// A Ratelimit is a running "ratelimit", which stands in for envoyproxy/ratelimit. GRPC and HTTP are its addresses.
type Ratelimit struct {
	*Node

	Debug string // the address with its pages
}

var standing = regexp.MustCompile(`msg=serving grpc=(\S+) http=(\S+) debug=(\S+)`)

// BuildRatelimit is Build of ratelimit.
func BuildRatelimit(t *testing.T) string {
	t.Helper()
	return build(t, "ratelimit", module+"/cmd/ratelimit")
}

// LaunchRatelimit runs ratelimit with environment variables, each name=value, on free ports of this machine, and does not wait.
func LaunchRatelimit(t *testing.T, binary string, environ ...string) *Node {
	t.Helper()
	cmd := exec.Command(binary) //nolint:noctx // it is ended by signals, which are what is tested
	cmd.Env = append(Environ(), "LOG_LEVEL=info", "HOST=127.0.0.1", "GRPC_HOST=127.0.0.1", "DEBUG_HOST=127.0.0.1", "PORT=0", "GRPC_PORT=0", "DEBUG_PORT=0")
	cmd.Env = append(cmd.Env, environ...)
	n, err := run(t, cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// StartRatelimit is LaunchRatelimit, and returns when it serves.
func StartRatelimit(t *testing.T, binary string, environ ...string) *Ratelimit {
	t.Helper()
	r := &Ratelimit{Node: LaunchRatelimit(t, binary, environ...)}
	found := r.waitFor(standing)
	r.GRPC, r.HTTP, r.Debug = found[1], found[2], found[3]
	return r
}
