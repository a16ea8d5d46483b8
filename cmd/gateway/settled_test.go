package gateway

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/keys"
)

// cut is what an editor has written of a document when it has come to a text.
func cut(t *testing.T, document, at string) string {
	t.Helper()
	before, _, found := strings.Cut(document, at)
	if !found {
		t.Fatalf("%q is not in the document", at)
	}
	return before
}

// A document that one look finds half saved, good YAML or not, is neither put in force nor complained of. The whole one is in force
// from the second look on that finds it.
func TestAHalfSavedDocumentIsPassedOver(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	half, broken := cut(t, good, "- {name: items"), cut(t, good, "path: /open")
	r := open(t, Config{}, good)
	step := func(document string, loads, served int) {
		t.Helper()
		write(t, r.path, document)
		if err := r.look(false); err != nil {
			t.Errorf("a look at a document that is being saved: %v", err)
		}
		if n := valueOf(r.counts.reloads.WithLabelValues(loaded)); n != float64(loads) {
			t.Errorf("%v documents were put in force, want %d", n, loads)
		}
		if got := r.served(t); got != served {
			t.Errorf("/new is answered %d, want %d", got, served)
		}
	}
	for _, part := range []string{half, broken, "", half[:len(half)-2]} {
		step(part, 0, http.StatusNotFound)
		step(good, 0, http.StatusNotFound)
	}
	step(broken, 0, http.StatusNotFound)
	step(half, 0, http.StatusNotFound)
	step(withNew(good), 0, http.StatusNotFound)
	step(withNew(good), 1, http.StatusOK)
	if err := os.Remove(r.path); err != nil { // some editors do, before they write
		t.Fatal(err)
	}
	if err := r.look(false); err != nil {
		t.Errorf("a look at a document that is being replaced: %v", err)
	}
	step(withNew(good), 1, http.StatusOK)
	step(half, 1, http.StatusOK)
	step(half, 2, http.StatusNotFound) // nobody has written any more of it
	if n := r.log.count("level=ERROR"); n != 0 {
		t.Errorf("%d errors are logged", n)
	}
}

// Whoever asks for it has saved it.
func TestAReloadThatIsAskedForTakesTheDocumentAtOnce(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	r := open(t, Config{}, good)
	write(t, r.path, "nonsense: 1")
	if err := r.look(true); err == nil || r.log.count("level=ERROR") != 1 {
		t.Errorf("a document that is wrong: %v, and %d errors are logged", err, r.log.count("level=ERROR"))
	}
	write(t, r.path, withNew(good))
	if err := r.look(true); err != nil || r.served(t) != http.StatusOK {
		t.Errorf("a good one: %v, %d", err, r.served(t))
	}
}

// A key that is revoked while a document is being saved does not wait for that, and a file that the document of tomorrow does without
// is not missed meanwhile.
func TestFilesDoNotWaitForTheDocument(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "keys.d")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file, key := filepath.Join(folder, "ours.jsonl"), keys.Make()
	if err := keys.Add(file, keys.Key{Label: "ci", Owner: t.Name(), Digest: keys.DigestOf(key)}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "gateway.yaml")
	good := keyed(anUpstream(t).URL)
	write(t, path, good)
	r := openAt(t, path, Config{})
	r.heard(t)
	wants := func(status int) {
		t.Helper()
		if got := r.get(t, r.ProxyAddr(), "/items", "X-Api-Key: "+key).status; got != status {
			t.Errorf("answered %d, want %d", got, status)
		}
	}
	wants(http.StatusOK)
	write(t, path, withNew(good))
	if _, err := keys.Revoke(file, "ci", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := r.look(false); err != nil {
		t.Fatal(err)
	}
	wants(http.StatusUnauthorized)
	if got := r.served(t); got != http.StatusNotFound {
		t.Errorf("the new document is in force after one look: %d", got)
	}
	if err := r.look(false); err != nil || r.served(t) != http.StatusOK {
		t.Errorf("after the second look: %v, %d", err, r.served(t))
	}

	if err := os.Rename(folder, filepath.Join(dir, "other.d")); err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(good, "keys.d", "other.d", 1))
	for range 2 {
		if err := r.look(false); err != nil {
			t.Error(err)
		}
	}
	if got := r.served(t); got != http.StatusNotFound || r.log.count("level=ERROR") != 0 {
		t.Errorf("with another folder of keys: %d, and %d errors are logged", got, r.log.count("level=ERROR"))
	}
}

// What a document changes is said in one line, and when something is gone, as from a file that was cut off for good, loudly.
func TestWhatADocumentChangesIsSaid(t *testing.T) {
	good := aDocument(anUpstream(t).URL)
	r := open(t, Config{}, good)
	for _, step := range []struct{ document, says, held string }{
		{withNew(good), `level=INFO msg="document in force" file=` + r.path + ` routes=3 routes_before=2 added=[new]`, "3 routes"},
		{cut(t, good, "- {name: items"), `level=WARN msg="document in force; some of what the previous one had is missing" file=` + r.path + ` routes=1 routes_before=3 removed="[items new]"`, "1 route"},
		{strings.Replace(good, ", checks: [{limits: [two]}]", "", 1), `level=INFO msg="document in force" file=` + r.path + ` routes=2 routes_before=1 added=[items]`, "2 routes"},
		{strings.Replace(good, "limits: [two]", "limits: [two, four]", 1), `routes=2 routes_before=2 changed=[items]`, "2 routes"},
		{strings.Replace(good, `{keys: ["ip:192.0.2.1"]}`, "{}", 1), `level=WARN msg="document in force; some of what the previous one had is missing" file=` + r.path + ` routes=2 routes_before=2 changed=[items] fewer_checks=[items] gone="[deny.keys: 1 of 1]" fields=[deny]`, "2 routes"},
	} {
		write(t, r.path, step.document)
		if err := r.Reload(); err != nil {
			t.Fatal(err)
		}
		if n := r.log.count(step.says + "\n"); n != 1 {
			t.Errorf("%d lines say\n%s\nin\n%s", n, step.says, r.log.text.String())
		}
		line := regexp.MustCompile(`(?m)^configuration: ` + step.held + `, in force since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
		if body := r.readyz(t, "").body; !line.MatchString(body) {
			t.Errorf("/readyz says\n%s, want %v", body, line)
		}
	}
	write(t, r.path, "nonsense: 1")
	_ = r.Reload()
	if body := r.readyz(t, "").body; !strings.Contains(body, "\nconfiguration: last reload failed") || !strings.Contains(body, "\nconfiguration: 2 routes, in force since") {
		t.Errorf("/readyz says\n%s", body)
	}
}
