package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checksums are those of what was built in a folder, by its name.
func checksums(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	return sums
}

// The same source, built in another folder, with another umask and other times of its files, makes the same bytes: archive, deb and rpm.
func TestSameBytes(t *testing.T) {
	first, again := checksums(t, filepath.Join(folder(t), "now")), checksums(t, filepath.Join(folder(t), "again"))
	for _, end := range []string{".tar.gz", ".deb", ".rpm"} {
		name := "jeton_0.1.0_linux_amd64" + end
		file, err := os.ReadFile(filepath.Join(folder(t), "now", name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != first[name] {
			t.Errorf("%s is not what checksums.txt says", name)
		}
		if first[name] != again[name] || first[name] == "" {
			t.Errorf("%s: %s, and built again %s", name, first[name], again[name])
		}
	}
}

// The archive has the pages and what they name in deploy, and of these folders nothing that is not of the repository.
func TestFoldersOfTheArchive(t *testing.T) {
	lines := func(name string, args ...string) (all []string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).Output()
		if err != nil {
			t.Fatal(name, args, err)
		}
		for line := range strings.Lines(string(out)) {
			all = append(all, strings.TrimSpace(line))
		}
		return all
	}
	const top = "jeton_0.1.0_linux_amd64"
	var got []string
	for _, file := range lines("tar", "tzf", filepath.Join(folder(t), "now", top+".tar.gz")) {
		file = strings.TrimPrefix(file, top+"/")
		if strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "deploy/") {
			got = append(got, file)
		}
	}
	want := lines("git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard", "docs", "deploy")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the archive has %q\nand the repository %q", got, want)
	}
}

// What is signed is the list of checksums and nothing else: cosign is asked once, for a bundle beside it, without a key and without a question.
func TestSigned(t *testing.T) {
	now := filepath.Join(folder(t), "now")
	asked, err := os.ReadFile(filepath.Join(now, "cosign"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "sign-blob\n--bundle=dist/checksums.txt.sigstore.json\ndist/checksums.txt\n--yes\n"; string(asked) != want {
		t.Errorf("cosign is asked %q, want %q", asked, want)
	}
	if _, err := os.Stat(filepath.Join(now, "checksums.txt.sigstore.json")); err != nil {
		t.Error(err)
	}
}

// The rpm has the files of the deb, the same scripts, and marks the same files as the administrator's.
func TestRPM(t *testing.T) {
	file := filepath.Join(folder(t), "now", "jeton_0.1.0_linux_amd64.rpm")
	ask := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "rpm", append([]string{"--dbpath", t.TempDir(), "--query", "--package", file}, args...)...).Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return string(out)
	}
	debian, err := exec.CommandContext(t.Context(), "dpkg-deb", "--fsys-tarfile", strings.TrimSuffix(file, ".rpm")+".deb").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "tar", "t")
	list.Stdin = strings.NewReader(string(debian))
	inDeb, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := ask("--list")
	for line := range strings.Lines(string(inDeb)) {
		name := strings.TrimPrefix(strings.TrimSpace(line), ".")
		if strings.HasSuffix(name, "/") || strings.Contains(name, "/zsh/") {
			continue
		}
		if !strings.Contains(files, name+"\n") {
			t.Errorf("the rpm has no %s", name)
		}
	}
	if got, want := ask("--configfiles"), "/etc/jeton/gateway.yaml\n/etc/jeton/jeton.yaml\n/etc/jeton/limits.yaml\n"; got != want {
		t.Errorf("files of the administrator: %q, want %q", got, want)
	}
	scripts := ask("--scripts")
	for _, script := range []string{"postinstall", "preremove", "postremove"} {
		text, err := os.ReadFile("../../deploy/packages/" + script + ".sh")
		if err != nil || !strings.Contains(scripts, strings.TrimSpace(string(text))) {
			t.Errorf("%s: %v: the rpm has other scripts:\n%s", script, err, scripts)
		}
	}
}

// rpm installs and removes its package as dpkg does, on a root file system that happens to be Debian's.
func TestRPMInstalls(t *testing.T) {
	m := newMachine(t, debian(t), "127.0.0.1")
	rpm := func(want string, args ...string) {
		t.Helper()
		said, err := exec.CommandContext(t.Context(), "rpm", append([]string{"--root", m.root, "--nodeps"}, args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(said), want) {
			t.Fatalf("rpm %q: %v: %s; want %q", args, err, said, want)
		}
	}
	file := filepath.Join(folder(t), "now", "jeton_0.1.0_linux_amd64.rpm")
	rpm("nothing was started", "--install", file)
	rpm("upgraded from the version before", "--upgrade", "--replacepkgs", "--replacefiles", "--force", file)
	m.write("/etc/jeton/limits.yaml", limits, 0o644)
	if said := m.must("jeton", "version"); !strings.Contains(said, "jeton v0.1.0\n") {
		t.Error(said)
	}
	rpm("data of the node stays in /var/lib/jeton", "--erase", "jeton")
	if _, is := m.has("/usr/bin/jeton"); is {
		t.Error("the program is there still")
	}
	if got := m.owner("/var/lib/jeton"); got != "jeton:jeton" {
		t.Errorf("the data belongs to %s", got)
	}
	if m.read("/etc/jeton/limits.yaml.rpmsave") != limits {
		t.Error("what the administrator changed is not kept")
	}
}

// The scripts do the same for an rpm, which numbers what is done, as for a deb, and nothing for a word that they do not know.
func TestScripts(t *testing.T) {
	m := newMachine(t, debian(t), "127.0.0.1")
	for _, tt := range []struct{ script, args, want string }{
		{"postinstall", "abort-upgrade", ""},
		{"postinstall", "1", "nothing was started"},
		{"postinstall", "2", "upgraded from the version before"},
		{"preremove", "1", ""},
		{"preremove", "upgrade", ""},
		{"preremove", "0", ""},
		{"postremove", "1", ""},
		{"postremove", "upgrade", ""},
		{"postremove", "0", "data of the node stays in /var/lib/jeton"},
	} {
		path := m.bring("../../deploy/packages/" + tt.script + ".sh")
		said := m.must("sh", path, tt.args)
		if tt.want == "" && said != "" || !strings.Contains(said, tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.script, tt.args, said, tt.want)
		}
	}
	if got := m.owner("/var/lib/jeton"); got != "jeton:jeton" {
		t.Errorf("the data belongs to %s", got)
	}
}

// The notes of a release are its section of the changelog, and there is none for a version that it does not have.
func TestReleaseNotes(t *testing.T) {
	chart, err := os.ReadFile("../../deploy/helm/jeton/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^version: (.+)$`).FindStringSubmatch(string(chart))[1]
	if !strings.Contains(string(changelog), "\n## ["+version+"]") {
		version = "Unreleased" // it is being written
	}
	said, err := notes(t, "../..", version)
	if err != nil || !strings.Contains(said, "### Added\n") || strings.Contains(said, "\n## ") {
		t.Errorf("%s: %v: %.200q", version, err, said)
	}
	if relative := regexp.MustCompile(`\]\((?:[^h#]|h[^t])[^)]*\)`).FindAllString(said, -1); len(relative) > 0 {
		t.Errorf("links that lead nowhere on the page of a release: %q", relative)
	}
	if said, err := notes(t, "../..", ""); err == nil || !strings.Contains(err.Error(), "use .ci/release-notes v0.1.0") || said != "" {
		t.Errorf("no version is named: %v: %.200q", err, said)
	}
	if said, err := notes(t, "../..", "v99.0.0"); err == nil {
		t.Errorf("notes of a version that is not there: %.200q", said)
	}
}

// A release has notes if the chart, the compose file and the clients have its version, and no page says that there is none. Their links lead to its tag.
func TestReleaseNotesNeedTheVersions(t *testing.T) {
	tree := t.TempDir()
	script, err := os.ReadFile("../../.ci/release-notes")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(tree, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(".ci/release-notes", string(script))
	write("CHANGELOG.md", "## [Unreleased]\n\n## [0.2.0] - 2020-02-02\n\nsee [a](docs/a.md), [b](docs/b.md#c), [d](#e), [f](https://example.com/f) and [g](SECURITY.md)\n\n"+
		"## [0.1.0] - 2020-01-01\n\nall\n\n[Unreleased]: https://example.com\n")
	write("README.md", "")
	write("docs/a.md", "Here is a release.\n")
	write("clients/python/README.md", "")
	for _, file := range []struct{ name, old, text string }{
		{"deploy/helm/jeton/Chart.yaml", "version: 0.1.0\nappVersion: v0.2.0\n", "version: 0.2.0\nappVersion: v0.2.0\n"},
		{"deploy/helm/jeton/Chart.yaml", "version: 0.2.0\nappVersion: v0.1.0\n", "version: 0.2.0\nappVersion: v0.2.0\n"},
		{"deploy/compose/compose.yaml", "  image: ${JETON_IMAGE:-ghcr.io/jeton-dev/jeton:latest}\n", "  image: ${JETON_IMAGE:-ghcr.io/jeton-dev/jeton:v0.2.0}\n"},
		{"clients/typescript/package.json", "{\n  \"version\": \"0.1.0\",\n}\n", "{\n  \"version\": \"0.2.0\",\n}\n"},
		{"clients/python/pyproject.toml", "version = \"0.1.0\"\n", "version = \"0.2.0\"\n"},
	} {
		write(file.name, file.old)
		if said, err := notes(t, tree, "v0.2.0"); err == nil || !strings.Contains(err.Error(), file.name+" is not of version 0.2.0") {
			t.Errorf("an old %s: %v: %q", file.name, err, said)
		}
		write(file.name, file.text)
	}
	write("docs/b.md", "There is no release yet.\n")
	if said, err := notes(t, tree, "v0.2.0"); err == nil || !strings.Contains(err.Error(), "docs/b.md:1:There is no release yet") {
		t.Errorf("a page of the time before: %v: %q", err, said)
	}
	write("docs/b.md", "")
	const at = "https://github.com/jeton-dev/jeton/blob/v0.2.0/"
	want := "see [a](" + at + "docs/a.md), [b](" + at + "docs/b.md#c), [d](#e), [f](https://example.com/f) and [g](" + at + "SECURITY.md)"
	if said, err := notes(t, tree, "v0.2.0"); err != nil || strings.TrimSpace(said) != want {
		t.Errorf("%v: %q, want %q", err, said, want)
	}
}

// notes runs the script of a tree for a version.
func notes(t *testing.T, tree, version string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", tree+"/.ci/release-notes", version).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}
