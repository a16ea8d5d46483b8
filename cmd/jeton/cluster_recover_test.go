package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// A recovery asks the operator to confirm what it asserts, and an operator who does not repeat the names reads what to type.
func TestRecoverAsks(t *testing.T) {
	const unanswered, other = "nothing was done: the question was not answered; --yes skips it", "nothing was done: the names were not repeated: type b, c"
	for typed, want := range map[string]string{
		"": unanswered, "\n": other, "b\n": other, "yes\n": other, "c, b\n": other, "b, c": "", "b,c\r\n": "", " b c \n": "",
	} {
		cmd := &cobra.Command{}
		cmd.SetIn(strings.NewReader(typed))
		cmd.SetErr(io.Discard)
		err := confirm(cmd, theNames([]string{"b", " c", "b", ""}))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("typed %q: %v, want %q", typed, err, want)
		}
	}
	if _, stderr, code := jeton(t, nil, "cluster", "recover", "--lost", " ,", "--yes"); code != cli.ExitError || !strings.Contains(stderr, "--lost: name the nodes") {
		t.Errorf("no names: exit code %d, %q", code, stderr)
	}
	_, stderr, code := jeton(t, nil, "cluster", "recover", "--lost", "nosuch,test", "--server", aCluster(t).GRPCAddr())
	if code != cli.ExitError || !strings.HasPrefix(stderr, "test knows no node \"nosuch\": jeton cluster status shows those that there are\nYou assert") || strings.Count(stderr, "knows no node") != 1 {
		t.Errorf("a name that no node has: exit code %d, %q", code, stderr)
	}
	if _, stderr, code := jeton(t, nil, "cluster", "recover", "--lost", "b", "--server", "127.0.0.1:1"); code != cli.ExitError || strings.Contains(stderr, "Type their names") || !strings.Contains(stderr, "connection refused") {
		t.Errorf("no node to ask: exit code %d, %q", code, stderr)
	}
}

// A floor closes the buckets of a limit for as long as its slowest plan or override takes to fill, and that is said of each limit that it closes for long.
func TestWhatAFloorCosts(t *testing.T) {
	doc, err := limit.ParseDocument([]byte(`limits:
  api:
    capacity: 10
    refill: 10/s
    plans: {pro: {capacity: 10000, refill: 10000/24h}}
  login: {capacity: 5, refill: 1/12s}
  set: {capacity: 5, refill: 5/s}
  slow: {capacity: 5, refill: 1/1h}
  places: {algorithm: concurrency, limit: 10, lease: 2m}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := saidFloor(doc, nil), "at most for so long: api 24h, slow 5h, places 2m; limits that requests define"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	over, problems := doc.WithOverrides([]limit.OverrideChange{{Limit: "set", Key: "k", Set: &limit.Override{Limit: "set", Key: "k", Says: "capacity: 100, refill: 1/1h"}}})
	if got := saidFloor(over, nil); len(problems) > 0 || !strings.Contains(got, "for so long: set ") {
		t.Errorf("with an override that is slow: %q, %v", got, problems)
	}
	quick, err := limit.ParseDocument([]byte("limits: {login: {capacity: 5, refill: 1/12s}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := saidFloor(quick, nil); !strings.Contains(got, "no key is denied for longer than a minute; those that requests define") {
		t.Errorf("got %q", got)
	}
	if got := saidFloor(nil, errors.New("no answer")); !strings.Contains(got, "is not known (no answer)") {
		t.Errorf("got %q", got)
	}
}
