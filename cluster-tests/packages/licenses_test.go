package packages

import (
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// licensesFile is the file with the licenses of what the binary contains.
const licensesFile = "THIRD-PARTY-LICENSES"

// Archive, deb, rpm and image hold the licenses of what the binary contains, and they are those of its modules, of Go, and of what is embedded.
func TestLicenses(t *testing.T) {
	now := filepath.Join(folder(t), "now")
	name := filepath.Join(now, "jeton_0.1.0_linux_amd64")
	unpacked := func(command string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command, "bash", name).Output()
		if err != nil {
			t.Fatal(command, err)
		}
		return string(out)
	}
	archive := unpacked(`tar xzOf "$1.tar.gz" "$(basename "$1")/` + licensesFile + `"`)
	container := newContainer(t, readImage(t), "127.0.0.1")
	for where, text := range map[string]string{
		"deb":   unpacked(`dpkg-deb --fsys-tarfile "$1.deb" | tar xO ./usr/share/doc/jeton/` + licensesFile),
		"rpm":   unpacked(`rpm2archive - <"$1.rpm" | tar xzO ./usr/share/doc/jeton/` + licensesFile),
		"image": container.read("/usr/share/doc/jeton/" + licensesFile),
	} {
		if text != archive {
			t.Errorf("the %s has other licenses than the archive: %d bytes, %d bytes", where, len(text), len(archive))
		}
	}
	built, err := buildinfo.ReadFile(filepath.Join(now, "jeton"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"Go's standard library, " + built.GoVersion, "uPlot 1.", "The time zone database of IANA"}
	for _, module := range built.Deps {
		wanted = append(wanted, module.Path+" "+module.Version+"\n")
	}
	if len(wanted) < 100 || !slices.ContainsFunc(wanted, func(line string) bool { return strings.HasPrefix(line, "github.com/hashicorp/raft v") }) {
		t.Errorf("the binary has %d modules: %q", len(built.Deps), wanted)
	}
	for _, line := range wanted {
		if !strings.Contains(archive, "\n"+strings.Repeat("=", 80)+"\n"+line) {
			t.Errorf("the licenses do not have %q", line)
		}
	}
	for _, path := range []string{"/usr/share/doc/jeton/LICENSE", "/usr/share/doc/ca-certificates/copyright"} {
		if _, is := container.has(path); !is {
			t.Errorf("the image has no %s", path)
		}
	}
}

// goreleaser brings Docker the files that the Dockerfile copies, besides the binary.
func TestFilesOfTheImageAreBrought(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Images []struct {
			Files []string `yaml:"extra_files"`
		} `yaml:"dockers_v2"`
	}
	if err := yaml.Unmarshal(text, &release); err != nil || len(release.Images) != 1 {
		t.Fatalf("images of a release: %+v, %v", release, err)
	}
	var copied []string
	for _, words := range readImage(t).copies {
		from := words[len(words)-2]
		if !strings.Contains(strings.Join(words, " "), "--from=") && !strings.HasPrefix(from, "$TARGETPLATFORM/") {
			copied = append(copied, from)
		}
	}
	if !slices.Equal(copied, release.Images[0].Files) {
		t.Errorf("the Dockerfile copies %q, and .goreleaser.yaml brings %q", copied, release.Images[0].Files)
	}
}

// A module without a license makes no file of licenses; with one, it is in it.
func TestModuleWithoutLicense(t *testing.T) {
	tree := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(tree, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("../../.ci/third-party-licenses")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".ci/third-party-licenses": string(script), ".goreleaser.yaml": "    goos: [linux, darwin]\n    goarch: [amd64]\n",
		"rpc/console/page/uplot/uPlot.esm.js": "* https://github.com/leeoniya/uPlot (v1.2.3)\n", "rpc/console/page/uplot/LICENSE": "that of uPlot\n",
		"actor/limit/calendar/zoneinfo.LICENSE": "none\n",
		"go.mod":                                "module example.com/program\n\ngo 1.26.0\n\nrequire example.com/other v1.0.0\n\nreplace example.com/other => ./other\n",
		"cmd/jeton/main.go":                     "package main\n\nimport _ \"example.com/other/inner/part\"\n\nfunc main() {}\n",
		"other/go.mod":                          "module example.com/other\n", "other/inner/part/part_darwin.go": "package part\n", "other/inner/part/part_linux.go": "package part\n",
		"other/aside/LICENSE": "not that of a package that is built\n",
	} {
		write(name, text)
	}
	run := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", ".ci/third-party-licenses")
		cmd.Dir = tree
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	if said, err := run(); err == nil || !strings.Contains(said, "./other  has no license in "+tree+"/other") {
		t.Errorf("without a license: %v: %s", err, said)
	}
	write("other/inner/Copying.md", "that of the other\r\n")
	if said, err := run(); err != nil || !strings.Contains(said, "\n--- inner/Copying.md ---\n\nthat of the other\n") || strings.Contains(said, "aside") {
		t.Errorf("with a license: %v: %s", err, said)
	}
}
