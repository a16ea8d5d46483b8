package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// docs is where the report of this repository stands.
const docs = "../../../docs/"

func TestBenchStages(t *testing.T) {
	dir := t.TempDir()
	picture, page, empty := filepath.Join(dir, "speed.svg"), filepath.Join(dir, "speed.md"), filepath.Join(dir, "empty.json")
	whole, err := os.ReadFile(docs + "speed.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{page: whole, empty: []byte(`{"cases":[]}`)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from := "stages --from " + docs + "speed.json"
	for _, tt := range []struct {
		args string
		code int
		want string // in stdout, or in stderr if the code is 2
	}{
		{from, 0, "| decide "},
		{from + " --output " + picture + " --page " + page, 0, ""},
		{"stages", 2, "--from: name the file"},
		{"stages --from nowhere.json", 2, "--from: open nowhere.json"},
		{"stages --from " + empty, 2, "--from: " + empty + ": there is no case: jeton bench stages capture"},
		{"stages --from " + empty + " --output " + picture, 2, "--from: " + empty},
		{from + " --output " + dir, 2, "--output: "},
		{from + " --page " + empty, 2, "--page: " + empty + ": it has no place for the tables"},
		{"stages capture", 2, "--into: name the file"},
		{"stages capture --into x --before " + dir, 2, "--before: " + dir + " is not a jeton binary"},
		{"stages capture --into x --after " + dir, 2, "--after: " + dir + " is not a jeton binary"},
	} {
		stdout, stderr, code := benchmark(t, nil, strings.Fields(tt.args)...)
		said := stdout
		if tt.code == cli.ExitError {
			said = stderr
		}
		if code != tt.code || !strings.Contains(said, tt.want) {
			t.Errorf("jeton bench %s: exit code %d, %q %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
	for path, original := range map[string]string{picture: docs + "speed.svg", page: docs + "speed.md"} {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.ReadFile(original); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not %s, %v", path, original, err)
		}
	}
}
