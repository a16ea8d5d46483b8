package rlqs_test

import (
	"testing"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
)

// start opens actors that decide by the limits of a document.
func start(t *testing.T, limits string) (*actor.System, *limit.Document) {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	return doorstest.NewSystem(t, limits), doc
}
