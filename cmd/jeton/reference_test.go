package main

import (
	"flag"
	"os"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/reference"
)

// update makes TestOptionsAreCurrent write the page instead of comparing it: see main.go.
var update = flag.Bool("update", false, "write the options into docs/options.md")

func TestOptionsAreCurrent(t *testing.T) {
	reference.Check(t, rootVerb(nil, os.LookupEnv), "../../docs/options.md", *update)
}
