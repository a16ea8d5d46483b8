package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckFollowsEveryLink(t *testing.T) {
	files := func(page string) map[string][]byte {
		return map[string][]byte{"docs/a.html": []byte(page), "index.html": []byte(`<h1 id="top">x</h1>`), "404.html": []byte(`<a href="/base/docs/a.html">x</a>`), "a.png": nil}
	}
	for _, tt := range []struct{ page, want string }{
		{`<a href="../index.html#top" id="x">x</a><a href="#x">x</a><a href="https://example.com/#y">x</a><img src="../a.png">`, ""},
		{`<a href="index.html">x</a>`, `docs/a.html: the link "index.html" leads nowhere`},
		{`<a href="/index.html">x</a>`, `leads nowhere`},
		{`<a href="../index.html#down">x</a>`, `"../index.html#down" leads to index.html, which has no heading of that name`},
		{`<a href="#y">x</a>`, "no heading of that name"},
		{`<img src="b.png">`, "leads nowhere"},
		{`<p id="x"></p><p id="x"></p>`, `two elements have the name "x"`},
		{`<p style="color:red">`, "<p> has the attribute style"},
		{`<p onclick="x()">`, "<p> has the attribute onclick"},
		{`<script>1</script>`, "<script> stands in the page"},
		{`<style>p{}</style>`, "<style> stands in the page"},
	} {
		made := files(tt.page)
		made["a.png"] = []byte("x")
		if got := errors.Join(check(made, "/base/")...); (got == nil) != (tt.want == "") || got != nil && !strings.Contains(got.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.page, got, tt.want)
		}
	}
	if got := check(files(""), "/other/"); len(got) != 1 {
		t.Errorf("a 404.html for another base: %v", got)
	}
}

// A folder that has something else is left alone; a site is replaced as a whole.
func TestWriteReplacesSitesAlone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "site")
	if err := write(folder, map[string][]byte{indexFile: []byte("1"), "old/a.html": []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if err := write(folder, map[string][]byte{indexFile: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "old")); !os.IsNotExist(err) {
		t.Errorf("what the older site had is still there: %v", err)
	}
	mine := filepath.Join(folder, "mine")
	if err := os.Remove(filepath.Join(folder, indexFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(folder, nil); err == nil || !strings.Contains(err.Error(), "is no site") {
		t.Errorf("a folder with something else: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}
