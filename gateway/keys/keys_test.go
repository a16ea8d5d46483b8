package keys_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/gateway/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// digests are some, in hexadecimal.
const (
	one = "7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a"
	two = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
)

// good is a line that is right.
const good = `{"label":"ci","owner":"acme","attributes":{"plan":"gold"},"expires":"2027-01-01T00:00:00Z","digest":"` + one + `"}`

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func read(tb testing.TB, path string) *keys.Set {
	tb.Helper()
	set, err := new(keys.Reader).Read(path)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// labels are those of a set, in its order.
func labels(s *keys.Set) string {
	var all []string
	for _, k := range s.All() {
		all = append(all, k.Label)
	}
	return strings.Join(all, " ")
}

func TestAKeyThatIsMadeIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.jsonl")
	key, other := keys.Make(), keys.Make()
	if key == other || len(key) < 50 || !strings.HasPrefix(key, "jeton_") {
		t.Fatalf("the keys are %q and %q", key, other)
	}
	want := keys.Key{
		Label: "ci", Owner: "Acme & Söhne", Digest: keys.DigestOf(key), Attributes: map[string]string{"plan": "gold", "org.id": "7"},
		Expires: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if err := keys.Add(path, want); err != nil {
		t.Fatal(err)
	}
	if err := keys.Add(path, keys.Key{Label: "plain", Owner: "acme", Digest: keys.DigestOf(other)}); err != nil {
		t.Fatal(err)
	}
	set := read(t, path)
	if got := set.Find(keys.DigestOf(key)); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("what was written is read as %+v, want %+v", got, want)
	}
	if got := set.Find(keys.DigestOf(other)); got == nil || got.Label != "plain" || got.Expired(time.Now()) {
		t.Errorf("the other key is read as %+v", got)
	}
	if set.Find(keys.DigestOf(hex.EncodeToString(want.Digest[:]))) != nil {
		t.Error("a digest serves as a key")
	}
	for at, expired := range map[time.Time]bool{want.Expires.Add(-1): false, want.Expires: true} {
		if want.Expired(at) != expired {
			t.Errorf("at %v it has expired: %t", at, !expired)
		}
	}
	text, err := os.ReadFile(path)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), key) {
		t.Errorf("the file has mode %v, or the key in it: %v %v\n%s", info.Mode(), err, serr, text)
	}
}

// What is wrong is said with its line, and nothing of the file counts.
func TestMistakes(t *testing.T) {
	change := func(old, other string) string { return strings.Replace(good, old, other, 1) }
	for name, c := range map[string]struct{ line, says string }{
		"no JSON":            {"ci: acme", `line: is not a JSON object: write a key on each line`},
		"a list":             {"[1]", "line: is not a JSON object"},
		"cut off":            {good[:len(good)-9], "line: is not a JSON object"},
		"two on a line":      {good + good, "after top-level value"},
		"unknown field":      {change(`"owner"`, `"Owner"`), "Owner: is not a known field: known here are label, owner"},
		"a field twice":      {change(`"owner"`, `"label":"ci","owner"`), "label: is there twice"},
		"an attribute twice": {change(`"plan"`, `"plan":"a","plan"`), "attributes.plan: is there twice"},
		"no label":           {change(`"label":"ci",`, ""), "label: is missing"},
		"a label in words":   {change(`"ci"`, `"c i"`), `label: "c i" is not a valid label`},
		"no owner":           {change(`"owner":"acme",`, ""), "owner: is missing"},
		"a number":           {change(`"acme"`, "7"), "owner: is a JSON number: write a text"},
		"a line in an owner": {change("acme", `ac\nme`), "owner: "},
		"a long owner":       {change("acme", strings.Repeat("a", 257)), "owner: has 257 bytes"},
		"no digest":          {change(`,"digest":"`+one+`"`, ""), "digest: is missing"},
		"a short digest":     {change(one, one[:62]), "digest: is not 64"},
		"a long digest":      {change(one, one+"00"), "digest: is not 64"},
		"no digits":          {change(one, strings.Repeat("zz", 32)), "digest: is not 64"},
		"attributes, a text": {change(`{"plan":"gold"}`, `"gold"`), "attributes: is a JSON string: write an object of texts"},
		"attribute's name":   {change("plan", "p l"), `attributes: "p l" is not a valid name`},
		"attribute, empty":   {change("gold", ""), "attributes.plan: is empty"},
		"attribute, nested":  {change(`"gold"`, `{"a":"b"}`), "attributes: is a JSON object: write"},
		"attribute, escaped": {change("plan", `pl\u0061n`), "attributes: "},
		"label, escaped":     {change("label", `l\u0061bel`), "is not a known field"},
		"null":               {change(`"acme"`, "null"), "owner: is missing"},
		"nothing":            {"null", "label: is missing"},
		"attribute owner":    {change("plan", "owner"), "attributes.owner: is a field of the key itself"},
		"beyond all years":   {change("2027-01-01T00:00:00Z", "9999-12-31T23:59:59-10:00"), "expires: is not in a year"},
		"a day":              {change("2027-01-01T00:00:00Z", "2027-01-01"), "expires: "},
		"not UTF-8":          {change("acme", "\xff"), "line: is not UTF-8"},
		"a long line":        {change("acme", strings.Repeat("a", 20_000)), "line: has more than 16 KiB: write a key on each line"},
		"the label twice":    {change(one, two), `label: "ci" is also that of `},
		"the digest twice":   {change("ci", "ci2"), "digest: is also that of ci"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.jsonl")
			before := good
			if !strings.Contains(name, " twice") || strings.HasPrefix(name, "a") {
				before = ""
			}
			write(t, path, "# keys\n"+before+"\n\n"+c.line+"\n")
			set, err := new(keys.Reader).Read(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+":4: ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v; want line 4 and %q", set.All(), err, c.says)
			}
		})
	}
}

// A folder's files count together, and nothing else in it.
func TestAFolder(t *testing.T) {
	dir := t.TempDir()
	line := func(label, digest string) string {
		return strings.NewReplacer("ci", label, one, digest).Replace(good)
	}
	write(t, filepath.Join(dir, "b.jsonl"), line("b", one))
	write(t, filepath.Join(dir, "a.jsonl"), "# nobody yet\n")
	for _, other := range []string{".hidden.jsonl", "c.jsonl~", ".keys-123", "README"} {
		write(t, filepath.Join(dir, other), "rubbish")
	}
	r := new(keys.Reader)
	step := func(want string) {
		t.Helper()
		if set, err := r.Read(dir); err != nil || labels(set) != want {
			t.Fatalf("the keys are %q, %v; want %q", labels(set), err, want)
		}
	}
	step("b")
	write(t, filepath.Join(dir, "a.jsonl"), line("a", two))
	step("a b")
	if err := os.Remove(filepath.Join(dir, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	step("a")
	write(t, filepath.Join(dir, "b.jsonl"), line("a", one))
	if _, err := r.Read(dir); err == nil || !strings.Contains(err.Error(), `b.jsonl:1: label: "a" is also that of `+filepath.Join(dir, "a.jsonl")+":1: ") {
		t.Errorf("one label in two files: %v", err)
	}
	write(t, filepath.Join(dir, "b.jsonl"), line("b", one))
	step("a b")
	for what, path := range map[string]string{"folder": dir, "file": filepath.Join(dir, "a.jsonl")} {
		for _, mode := range []fs.FileMode{0o702, 0o720} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := new(keys.Reader).Read(dir); err == nil || !strings.Contains(err.Error(), "chmod go-w "+path) {
				t.Errorf("a %s that others may write, %04o: %v", what, mode, err)
			}
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that has not changed is not parsed again, nor is one that is wrong.
func TestReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.jsonl")
	r := new(keys.Reader)
	write(t, path, good)
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	first, err := r.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Read(path); err != nil || again != first {
		t.Errorf("the same file makes another set: %v", err)
	}
	write(t, path, good+"\n"+good)
	_, wrong := r.Read(path)
	if _, again := r.Read(path); wrong == nil || again == nil || again.Error() != wrong.Error() {
		t.Errorf("a wrong file: %v, then %v", wrong, again)
	}
	// In the same moment, of the same length.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(good+"\n"+strings.Replace(good, "ci", "di", 1), one, two, 1))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if set, err := r.Read(path); err != nil || labels(set) != "ci di" {
		t.Errorf("a change within the resolution of the file system's clock is missed: %q, %v", labels(set), err)
	}
	if set := read(t, path); set.Digest() == first.Digest() || set.Digest() != read(t, path).Digest() {
		t.Error("the digest does not tell sets apart")
	}
}

// Everything but the line of the key stays as it was written, and so do the owner and the permissions of the file.
func TestRevoke(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "keys.jsonl"), filepath.Join(dir, "link")
	other := strings.NewReplacer("ci", "di", one, two).Replace(good)
	write(t, path, "# ours\n  "+good+"  \n\n# theirs\n"+other)
	if err := errors.Join(os.Chmod(path, 0o640), os.Symlink("keys.jsonl", link)); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"c", "", "CI"} {
		if _, err := keys.Revoke(path, label, time.Now()); !errors.Is(err, keys.ErrUnknown) {
			t.Errorf("%q is revoked: %v", label, err)
		}
	}
	if _, err := keys.Revoke(link, "ci", time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	info, serr := os.Stat(path)
	if want := "# ours\n# revoked ci " + one + " 2026-11-22T18:00:00Z\n\n# theirs\n" + other; err != nil || string(text) != want {
		t.Errorf("what is left is %q, %v; want %q", text, err, want)
	}
	if serr != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), serr)
	}
	if at, err := os.Lstat(link); err != nil || at.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is replaced by a file: %v", err)
	}
	if err := keys.Add(path, keys.Key{Label: "ci", Owner: "acme", Digest: keys.DigestOf("x")}); err != nil || labels(read(t, path)) != "di ci" {
		t.Errorf("the label is not free again: %v, %s", err, labels(read(t, path)))
	}
}

// digest is that of 64 hexadecimal digits.
func digest(t *testing.T, text string) (d keys.Digest) {
	t.Helper()
	if _, err := hex.Decode(d[:], []byte(text)); err != nil {
		t.Fatal(err)
	}
	return d
}

// The last key can be revoked. A file that is empty is one that somebody is just saving: it revokes nothing.
func TestRevokeTheLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.jsonl")
	write(t, path, good)
	if _, err := keys.Revoke(path, "ci", time.Now()); err != nil {
		t.Fatal(err)
	}
	if set := read(t, path); len(set.All()) != 0 || set.Find(digest(t, one)) != nil || !set.Revoked(digest(t, one)) || set.Revoked(digest(t, two)) {
		t.Errorf("%s are left, or what was revoked is not told", labels(set))
	}
	for _, text := range []string{"# revoked", "# revoked ci", "# revoked ci " + one[:10], "# revoked ci x" + one[1:], "# ci " + one} {
		write(t, path, text)
		if read(t, path).Revoked(digest(t, one)) {
			t.Errorf("%q revokes the key", text)
		}
	}
	for _, text := range []string{"", "\n", " \n\n"} {
		write(t, path, text)
		if _, err := new(keys.Reader).Read(path); err == nil || !strings.Contains(err.Error(), path+" is empty, which would revoke every key") {
			t.Errorf("%q: %v", text, err)
		}
		if err := keys.Add(path, keys.Key{Label: "ci", Owner: "acme", Digest: keys.DigestOf("x")}); err != nil || labels(read(t, path)) != "ci" {
			t.Errorf("%q: a key cannot be added: %v", text, err)
		}
	}
}

// A folder without a file is one in which a file is just being replaced: it revokes nothing either.
func TestAFolderWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", "notes.txt", ".hidden.jsonl"} {
		if name != "" {
			write(t, filepath.Join(dir, name), good)
		}
		if _, err := new(keys.Reader).Read(dir); err == nil || !strings.Contains(err.Error(), dir+" holds no file that ends in .jsonl") {
			t.Errorf("with %q: %v", name, err)
		}
	}
}

// A file of one huge line is refused before it is read whole.
func TestALineOfManyMegabytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.jsonl")
	write(t, path, good+"\n")
	if err := os.Truncate(path, 200<<20); err != nil { // with a hole of zeros, which takes no disk
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	for what, ask := range map[string]func() error{
		"read":  func() error { _, err := new(keys.Reader).Read(path); return err },
		"added": func() error { return keys.Add(path, keys.Key{Label: "a", Owner: "b", Digest: keys.DigestOf("x")}) },
	} {
		runtime.ReadMemStats(&before)
		err := ask()
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), path+":2: line: has more than 16 KiB") {
			t.Errorf("%s: %v", what, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: it took %d bytes of memory", what, took)
		}
	}
}

// A line of as much as is allowed counts, however it ends.
func TestTheLongestLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.jsonl")
	for _, end := range []string{"", "\n", "\r\n"} {
		write(t, path, strings.Repeat(" ", 16<<10-len(good))+good+end)
		if labels(read(t, path)) != "ci" {
			t.Errorf("a line that ends in %q does not count", end)
		}
	}
}

// What cannot be added leaves the file as it is, and nothing beside it.
func TestAddRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.jsonl")
	write(t, path, good+"\n")
	fresh := keys.DigestOf("x")
	for says, k := range map[string]keys.Key{
		path + `:1: label: "ci" is already in use`: {Label: "ci", Owner: "acme", Digest: fresh},
		"of the key ci":      {Label: "di", Owner: "acme", Digest: read(t, path).All()[0].Digest},
		"owner: is missing":  {Label: "di", Digest: fresh},
		"digest: is missing": {Label: "di", Owner: "acme"},
	} {
		if err := keys.Add(path, k); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", k, err, says)
		}
	}
	write(t, filepath.Join(dir, "wrong"), "rubbish\n")
	if err := keys.Add(filepath.Join(dir, "wrong"), keys.Key{Label: "a", Owner: "b", Digest: fresh}); err == nil {
		t.Error("a file that is no file of keys is written to")
	}
	if err := keys.Add(dir, keys.Key{Label: "a", Owner: "b", Digest: fresh}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("none/keys.jsonl", link); err != nil {
		t.Fatal(err)
	}
	if err := keys.Add(link, keys.Key{Label: "a", Owner: "b", Digest: fresh}); err == nil || !strings.Contains(err.Error(), link+" is a link to none/keys.jsonl, which does not exist") {
		t.Errorf("a link to nothing: %v", err)
	}
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	_, revoking := keys.Revoke(path, "ci", time.Now())
	for what, err := range map[string]error{
		"added": keys.Add(path, keys.Key{Label: "a", Owner: "b", Digest: fresh}), "revoked": revoking,
	} {
		if err == nil || !strings.Contains(err.Error(), "chmod go-w "+path) {
			t.Errorf("a key is %s in a file that others may write: %v", what, err)
		}
	}
	text, err := os.ReadFile(path)
	entries, derr := os.ReadDir(dir)
	if err != nil || derr != nil || string(text) != good+"\n" || len(entries) != 3 {
		t.Errorf("afterwards there are %v with %q: %v %v", entries, text, err, derr)
	}
}

// Several at once lose nothing.
func TestSeveralAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.jsonl")
	if err := keys.Add(path, keys.Key{Label: "gone", Owner: "acme", Digest: keys.DigestOf("gone")}); err != nil {
		t.Fatal(err)
	}
	const many = 20
	var running sync.WaitGroup
	for i := range many {
		running.Go(func() {
			name := fmt.Sprintf("key-%d", i)
			if err := keys.Add(path, keys.Key{Label: name, Owner: "acme", Digest: keys.DigestOf(name)}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Go(func() {
		if _, err := keys.Revoke(path, "gone", time.Now()); err != nil {
			t.Error(err)
		}
	})
	running.Wait()
	if set := read(t, path); len(set.All()) != many || set.Find(keys.DigestOf("gone")) != nil {
		t.Errorf("there are %d keys: %s", len(set.All()), labels(set))
	}
}

// many writes a file of so many keys: that of number i is key-i.
func many(tb testing.TB, count int) (path string) {
	tb.Helper()
	var text strings.Builder
	for i := range count {
		digest := keys.DigestOf(fmt.Sprintf("key-%d", i))
		fmt.Fprintf(&text, `{"label":"key-%d","owner":"owner-%d","attributes":{"plan":"gold"},"digest":"%x"}`+"\n", i, i/10, digest)
	}
	path = filepath.Join(tb.TempDir(), "keys.jsonl")
	write(tb, path, text.String())
	return path
}

func TestAHundredThousand(t *testing.T) {
	const count = 100_000
	set := read(t, many(t, count))
	if len(set.All()) != count {
		t.Fatalf("%d keys are read", len(set.All()))
	}
	for i := range count {
		if k := set.Find(keys.DigestOf(fmt.Sprintf("key-%d", i))); k == nil || k.Attribute("owner") != fmt.Sprintf("owner-%d", i/10) || k.Attribute("plan") != "gold" {
			t.Fatalf("key %d is %+v", i, k)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	path := many(b, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		read(b, path)
	}
}

// A file is as safe as the folder that it is in, by whichever way it is reached: who may write there may put another file in its place.
// In a sticky folder, such as /tmp, only the owner of a file may.
func TestAFolderThatOthersMayWrite(t *testing.T) {
	k := keys.Key{Label: "a", Owner: "b", Digest: keys.DigestOf("x")}
	for mode, taken := range map[fs.FileMode]bool{
		0o755: true, 0o700: true, 0o777: false, 0o775: false, 0o757: false, 0o777 | fs.ModeSticky: true, 0o775 | fs.ModeSticky: true,
	} {
		top := t.TempDir()
		dir, link := filepath.Join(top, "dir"), filepath.Join(top, "link.jsonl")
		path := filepath.Join(dir, "keys.jsonl")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(path, link)); err != nil {
			t.Fatal(err)
		}
		write(t, path, good+"\n")
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{path, link} {
			_, reading := new(keys.Reader).Read(at)
			adding := keys.Add(at, k)
			_, revoking := keys.Revoke(at, "ci", time.Now())
			for what, err := range map[string]error{"read": reading, "added": adding, "revoked": revoking} {
				if taken != (err == nil) || !taken && !strings.Contains(err.Error(), "can replace "+path+": run `chmod go-w "+dir+"`") {
					t.Errorf("a key is %s in a folder of mode %v: %v; it must be: %v", what, mode, err, taken)
				}
			}
			write(t, path, good+"\n")
		}
		if err := keys.Add(filepath.Join(dir, "new.jsonl"), k); taken != (err == nil) {
			t.Errorf("a file is made in a folder of mode %v: %v", mode, err)
		}
	}
}
