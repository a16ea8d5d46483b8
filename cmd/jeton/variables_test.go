package main

import (
	"os"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// TestUnknownVariables: a variable with a wrong letter is told with the name that is meant; others are left alone.
func TestUnknownVariables(t *testing.T) {
	for variable, meant := range map[string]string{
		"JETON_LISTEN_GPRC=:7700":              "JETON_LISTEN_GRPC",
		"JETON_LIMIT_FILE=limits.yaml":         "JETON_TOKEN_FILE",
		"JETON_SEVER=a:7700":                   "JETON_SERVER",
		"JETON_SERVER=a:7700":                  "",
		"JETON_LISTEN_GRPC=:7700":              "",
		"JETON_GATEWAY=edge-1:7781":            "",
		"PATH=/bin":                            "",
		"JETON_SERVICE_HOST=10.0.0.1":          "", // of Kubernetes
		"JETON_NODES_SERVICE_PORT_GRPC=7700":   "",
		"JETON_NODES_PORT=tcp://10.0.0.1:7700": "",
		"JETON_PORT_7700_TCP_ADDR=10.0.0.1":    "",
		"JETON_SIMULATE_SEED=1":                "", // of the tests
		"JETON_FAULT_CLOCK=/tmp/clock":         "",
	} {
		var said strings.Builder
		cli.WarnOfVariables(rootVerb(nil, os.LookupEnv), []string{variable}, &said)
		name, _, _ := strings.Cut(variable, "=")
		if meant == "" && said.Len() > 0 || meant != "" && !strings.HasPrefix(said.String(), "jeton: warning: the environment variable "+name+" is not known: did you mean "+meant+"?") {
			t.Errorf("%s: %q, want %q", variable, said.String(), meant)
		}
	}
}

// TestVersionFlag: who types --version gets what "version" prints.
func TestVersionFlag(t *testing.T) {
	verb, _, _ := jeton(t, nil, "version")
	flag, stderr, code := jeton(t, nil, "--version")
	if flag != verb || !strings.HasPrefix(flag, "jeton ") || code != cli.ExitOK || stderr != "" {
		t.Errorf("--version ends with %d: %q, %q, and version prints %q", code, flag, stderr, verb)
	}
}
