package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/transcript"
)

func TestRead(t *testing.T) {
	page := strings.ReplaceAll(`# A page

'''console
$ one \
    more
printed
$ two # a remark
'''

'''
just a figure
'''

<!-- not run: it takes a minute -->
'''sh
make it
A=1 run
'''

<!-- before: stop -->
<!-- file: limits.yaml -->
'''yaml
limits: {}
'''
`, "'''", "```")
	blocks, err := transcript.Read(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []transcript.Block{
		{Line: 3, Commands: []transcript.Command{{Line: 4, Text: "one \\\n    more", Shows: "printed\n"}, {Line: 7, Text: "two # a remark"}}},
		{Line: 15, NotRun: "it takes a minute", Commands: []transcript.Command{{Line: 16, Text: "make it"}, {Line: 17, Text: "A=1 run"}}},
		{Line: 22, Before: []string{"stop"}, File: "limits.yaml", Content: "limits: {}\n"},
	}
	if got, want := fmt.Sprintf("%+v", blocks), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for page, want := range map[string]string{
		"'''\n$ run\n'''\n":                 "line 1: the block has commands: begin it with ```console",
		"'''console\nprinted\n'''\n":        "line 1: a block of console begins with a command",
		"'''sh\nrun\n":                      "line 1: the block does not end",
		"<!-- not run: x -->\n\n'''\n'''\n": "line 1: the comment is not directly above a block",
	} {
		if _, err := transcript.Read(strings.ReplaceAll(page, "'''", "```")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", page, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		shows, printed string
		want           bool
	}{
		{"allowed: true", "allowed: true", true},
		{"allowed: true", "allowed: false", false},
		{"first\nthird\n", "first\nsecond\nthird\n", true},
		{"third\nfirst\n", "first\nsecond\nthird\n", false},
		{"200 200 … 429 429", "200 200 200 429 429 429", true},
		{"200 200 … 429 429", "200 200 200 200", false},
		{`{"a":1, … "z":2}`, `{"a":1,"m":3,"z":2}`, true},
		{`"remaining":9,"reset_after_ms":360000`, `"remaining":9,"reset_after_ms":359987`, true},
		{`"remaining":9,"reset_after_ms":360000`, `"remaining":8,"reset_after_ms":359987`, false},
		{"ci  acme  f1ef346b", "ci    acme 00ff00aa", true},
		{"RateLimit: \"items\";r=0;t=1", "RateLimit: \"items\";r=1;t=1", false},
		{"id edge-1-1-v2gv55ff", "id other-2-7-aaaaaaaa1", true},
		{"a warning that\ngoes on", "a warning that goes on", true},
		{"localhost", "127.0.0.1", false},
	} {
		if got := transcript.Matches(tt.shows, tt.printed); got != tt.want {
			t.Errorf("%q shown, %q printed: %v", tt.shows, tt.printed, got)
		}
	}
}
