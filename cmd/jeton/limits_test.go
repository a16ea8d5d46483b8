package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// A limitsFile is a document that an operator got from a cluster, edits and applies.
type limitsFile struct {
	*testing.T

	path string
	env  map[string]string
}

func newLimitsFile(t *testing.T) *limitsFile {
	t.Helper()
	f := &limitsFile{t, filepath.Join(t.TempDir(), "limits.yaml"), map[string]string{"JETON_SERVER": aCluster(t).GRPCAddr()}}
	f.write(f.get())
	return f
}

func (f *limitsFile) write(text string) {
	f.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

// get is what limits get prints.
func (f *limitsFile) get() string {
	f.Helper()
	stdout, stderr, code := jeton(f.T, f.env, "limits", "get")
	if code != cli.ExitOK {
		f.Fatal(stderr)
	}
	return stdout
}

// edit adds a limit to the file.
func (f *limitsFile) edit(name string) {
	f.Helper()
	text, err := os.ReadFile(f.path)
	if err != nil {
		f.Fatal(err)
	}
	f.write(string(text) + "  " + name + ": {capacity: 1, refill: 1/s}\n")
}

// run runs limits VERB -f with the file, and says what must be in what it prints.
func (f *limitsFile) run(args string, code int, says ...string) {
	f.Helper()
	stdout, stderr, got := jeton(f.T, f.env, append(strings.Fields("limits "+args), "-f", f.path)...)
	if got != code {
		f.Errorf("limits %s: exit code %d, want %d: %s%s", args, got, code, stdout, stderr)
	}
	for _, want := range says {
		if !strings.Contains(stdout+stderr, want) {
			f.Errorf("limits %s: %q is not in %q", args, want, stdout+stderr)
		}
	}
}

// A document that limits get printed replaces the version that it was made from, and no other.
func TestLimitsApplyHeedsTheVersionOfTheDocument(t *testing.T) {
	f := newLimitsFile(t)
	if !strings.HasPrefix(f.get(), "# version 1\nlimits:") {
		t.Fatalf("limits get prints %q", f.get())
	}
	f.run("apply", cli.ExitOK, "nothing to change: version 1 is in force") // as it was got
	f.write("# of ours\n" + f.get())
	f.run("apply", cli.ExitOK, "nothing to change: version 1 is in force")
	f.write(f.get())
	f.edit("mine")
	f.run("apply", cli.ExitOK, "+ mine", "version 2 is in force; for your next change, let "+f.path+" begin with # version 2\n")
	f.run("apply", cli.ExitOK, "nothing to change: version 2 is in force") // the same again, as from a file in git
	if text := f.get(); !strings.HasPrefix(text, "# version 2\nlimits:") || strings.Count(text, "# version") != 1 {
		t.Errorf("limits get prints %q", text)
	}

	f.edit("later")
	conflict := []string{f.path + ":1: the document was made from version 1", "version 2 is in force", "jeton limits get", "remove the line", "--version 2"}
	f.run("apply", cli.ExitError, conflict...)
	f.run("apply --dry-run", cli.ExitError, conflict...)
	f.run("diff", cli.ExitNo, "+ later", f.path+":1: the document was made from version 1, and version 2 is in force")
	if strings.Contains(f.get(), "later") {
		t.Error("it was applied all the same")
	}
	f.run("apply --version 1", cli.ExitError, "version 2 is in force, not 1")
	f.run("apply --version 2", cli.ExitOK, "+ later", "version 3 is in force")
	f.edit("latest")
	f.run("apply --version 0", cli.ExitOK, "+ latest", "version 4 is in force")
}

// A document without the line of the version replaces whatever is in force.
func TestLimitsApplyWithoutAVersion(t *testing.T) {
	f := newLimitsFile(t)
	_, bare, _ := strings.Cut(f.get(), "\n")
	for _, first := range []string{"", "# versions 1\n", "# version one\n", "#version 9\n"} {
		f.write(first + bare + "  " + strings.Repeat("x", 1+len(first)) + ": {capacity: 1, refill: 1/s}\n")
		f.run("apply --remove", cli.ExitOK, "is in force")
	}
	f.write("# version 1\r\n" + strings.ReplaceAll(bare, "\n", "\r\n"))
	f.run("apply --remove", cli.ExitError, ":1: the document was made from version 1,")
	f.write("\n# ours\n# version 1\n" + bare)
	f.run("apply --remove", cli.ExitError, ":3: the document was made from version 1,")
}

// What jeton cluster export has written is no limits document, and the error names the command for it.
func TestLimitsApplyOfAnExport(t *testing.T) {
	f := newLimitsFile(t)
	if _, stderr, code := jeton(t, f.env, "cluster", "export", "-o", f.path); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	f.run("apply", cli.ExitError, f.path+": is what jeton cluster export has written, which jeton cluster import puts in force")
}

// Who adds a limit need not have those of others in the file.
func TestLimitsApplyMerges(t *testing.T) {
	f := newLimitsFile(t)
	before := f.get()
	f.write("limits:\n  mine: {capacity: 1, refill: 1/s}\n")
	f.run("apply", cli.ExitError, "the document leaves out limits that are in force", "jeton limits apply --merge")
	f.run("apply --merge --dry-run", cli.ExitOK, "+ mine", "nothing was changed: version 1 is in force")
	f.run("apply --merge", cli.ExitOK, "+ mine", "version 2 is in force\n")
	_, limits, _ := strings.Cut(before, "limits:\n")
	if got := f.get(); !strings.Contains(got, "mine:") || len(got) <= len(limits) {
		t.Errorf("in force is %s", got)
	}
	f.run("apply --merge", cli.ExitOK, "nothing to change: version 2 is in force")
	f.write("# version 1\nlimits:\n  mine: {capacity: 2, refill: 1/s}\n")
	f.run("apply --merge", cli.ExitError, f.path+":1: the document was made from version 1, and version 2 is in force")
	f.write("limits:\n  mine: {capacity: 2, refill: 1/s}\n")
	f.run("apply --merge --version 1", cli.ExitError, "version 2 is in force, not 1")
	f.run("apply --merge", cli.ExitOK, "~ mine", "capacity:       1 → 2", "version 3 is in force")
	f.run("apply --merge --remove", cli.ExitError, "--merge", "--remove")
	f.run("diff --merge", cli.ExitOK)
	f.write("limits: {}\n")
	f.run("apply --merge", cli.ExitOK, "nothing to change: version 3 is in force")
	f.run("diff", cli.ExitNo, "- mine")
}

// A document that was put in force with its line, as over HTTP, is got with the line of the version in force alone.
func TestLimitsGetReplacesTheVersionOfTheDocument(t *testing.T) {
	f := newLimitsFile(t)
	for text, want := range map[string]string{
		"# version 1\n# version 1\nlimits: {}\n": "# version 7\nlimits: {}\n",
		"limits: {}\n# version 1\n":              "# version 7\nlimits: {}\n# version 1\n",
		"# version 1":                            "# version 7\n",
		"":                                       "# version 7\n",
	} {
		if got := withVersion(7, text); got != want {
			t.Errorf("%q is got as %q, want %q", text, got, want)
		}
	}
	f.run("diff", cli.ExitOK)
}
