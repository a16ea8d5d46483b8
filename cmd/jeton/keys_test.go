package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/gateway/keys"
)

// A key is made, listed and revoked, and seen only once.
func TestKeysVerbs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.jsonl")
	made, stderr, code := jeton(t, nil, "keys", "make", "--file", file, "--label", "ci", "--owner", "Acme Inc", "--attribute", "plan=gold", "--attribute", "region=a=b")
	key := strings.TrimSpace(made)
	if code != cli.ExitOK || !strings.HasPrefix(key, "jeton_") || strings.Count(made, "\n") != 1 || stderr != "" {
		t.Fatalf("exit code %d, %q %q", code, made, stderr)
	}
	if _, stderr, code := jeton(t, nil, "keys", "make", "--file", file, "--label", "trial", "--owner", "initech", "--expires", "720h"); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	hash := keys.DigestOf(key).Short()
	for _, tt := range []struct {
		args string
		code int
		want []string // in stdout, or in stderr if the code is 2
	}{
		{"list --file " + file, 0, []string{"LABEL  OWNER     EXPIRES", "ci     Acme Inc  never", hash + "  plan=gold region=a=b", "trial  initech   20"}},
		{"list --file " + dir, 0, []string{"ci     Acme Inc", "trial"}},
		{"list --file " + dir + "/none", 2, []string{"no such file"}},
		{"list", 2, []string{"--file: name the file of keys"}},
		{"make --label a --owner b", 2, []string{"missing: --file: as in jeton keys make --file keys.jsonl --label ci --owner acme"}},
		{"make --file " + file + " --owner b", 2, []string{"missing: --label: as in"}},
		{"make --file " + file, 2, []string{"missing: --label, --owner: as in jeton keys make --file keys.jsonl --label ci"}},
		{"make --file " + file + " --label ci --owner b", 2, []string{file + `:2: label: "ci" is already in use`}},
		{"make --file " + file + " --label a --owner b --attribute plan", 2, []string{`--attribute: "plan" is no attribute: write name=value`}},
		{"make --file " + file + " --label a --owner b --attribute p=1 --attribute p=2", 2, []string{"--attribute: p is given twice"}},
		{"make --file " + file + " --label a --owner b --attribute owner=x", 2, []string{"attributes.owner: is a field of the key itself"}},
		{"make --file " + file + " --label a --owner b --expires soon", 2, []string{`--expires: "soon" is no time`}},
		{"make --file " + file + " --label a --owner b --expires 2020-01-01", 2, []string{"--expires: 2020-01-01T00:00:00Z is over already"}},
		{"make --file " + dir + "/none/keys.jsonl --label a --owner b", 2, []string{"no such file"}},
		{"revoke --file " + file, 2, []string{"use jeton keys revoke LABEL"}},
		{"revoke c --file " + file, 2, []string{`"c": no key has this label: jeton keys list --file ` + file}},
		{"revoke ci", 2, []string{"--file"}},
		{"revoke ci --file " + dir + "/none.jsonl", 2, []string{dir + "/none.jsonl: no such file"}},
		{"revoke ci --file " + file, 0, []string{"revoked ci, of Acme Inc, whose SHA-256 begins with " + hash + "\n"}},
		{"revoke ci --file " + file, 2, []string{"no key has this label"}},
	} {
		stdout, stderr, code := jeton(t, nil, append([]string{"keys"}, strings.Fields(tt.args)...)...)
		said := stdout
		if tt.code == cli.ExitError {
			said = stderr
		}
		if code != tt.code || strings.Contains(stdout+stderr, key) {
			t.Errorf("jeton keys %s: exit code %d, %q %q; want %d, and no key", tt.args, code, stdout, stderr, tt.code)
		}
		for _, want := range tt.want {
			if !strings.Contains(said, want) {
				t.Errorf("jeton keys %s: %q is not in %q %q", tt.args, want, stdout, stderr)
			}
		}
	}
	listed, _, _ := jeton(t, nil, "keys", "list", "--file", file, "--output", "json")
	var list []struct {
		Label, Owner, Hash string
		Expires            time.Time
	}
	if err := json.Unmarshal([]byte(listed), &list); err != nil || len(list) != 1 || list[0].Label != "trial" || list[0].Owner != "initech" || len(list[0].Hash) != 8 {
		t.Errorf("%v: %s", err, listed)
	}
	if left := time.Until(list[0].Expires); left < 719*time.Hour || left > 720*time.Hour {
		t.Errorf("it expires in %v", left)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "Acme") {
		t.Errorf("%v: %s", err, text)
	}
}

// A key of the past is said to be over.
func TestKeysListSaysWhatIsOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.jsonl")
	k := keys.Key{Label: "old", Owner: "acme", Digest: keys.DigestOf("x"), Expires: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	if err := keys.Add(file, k); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := jeton(t, nil, "keys", "list", "--file", file); code != cli.ExitOK || !strings.Contains(stdout, "2020-01-01T00:00:00Z (over)") {
		t.Errorf("%d %q %q", code, stdout, stderr)
	}
}
