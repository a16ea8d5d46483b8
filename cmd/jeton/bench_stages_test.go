package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs is where the report of this repository stands.
const docs = "../../docs/"

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
	from := "bench stages --from " + docs + "speed.json"
	for _, tt := range []struct {
		args string
		code int
		want string // in stdout, or in stderr if the code is 2
	}{
		{from, 0, "| decide "},
		{from + " --output " + picture + " --page " + page, 0, ""},
		{"bench stages", 2, "--from: name the file"},
		{"bench stages --from nowhere.json", 2, "--from: open nowhere.json"},
		{"bench stages --from " + empty, 2, "--from: " + empty + ": there is no case: jeton bench stages capture"},
		{"bench stages --from " + empty + " --output " + picture, 2, "--from: " + empty},
		{from + " --output " + dir, 2, "--output: "},
		{from + " --page " + empty, 2, "--page: " + empty + ": it has no place for the tables"},
		{"bench stages capture", 2, "--into: name the file"},
		{"bench stages capture --into x --before " + dir, 2, "--before: " + dir + " is not a jeton binary"},
		{"bench stages capture --into x --after " + dir, 2, "--after: " + dir + " is not a jeton binary"},
	} {
		stdout, stderr, code := jeton(t, nil, strings.Fields(tt.args)...)
		said := stdout
		if tt.code == exitError {
			said = stderr
		}
		if code != tt.code || !strings.Contains(said, tt.want) {
			t.Errorf("jeton %s: exit code %d, %q %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
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
