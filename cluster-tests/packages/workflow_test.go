package packages

import (
	"bytes"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const repository = "https://github.com/jeton-dev/jeton/"

// A workflow is one of GitHub's as far as ours go: other fields are refused.
type workflow struct {
	Name        string
	On          map[string]struct{ Branches, Tags []string }
	Permissions map[string]string
	Jobs        map[string]struct {
		Uses, Needs string
		Environment string
		RunsOn      string `yaml:"runs-on"`
		Container   struct{ Image, Options string }
		Permissions map[string]string
		Steps       []struct {
			Uses, Run string
			With, Env map[string]string
		}
	}
}

// readWorkflow reads a file of the repository, which must be a workflow of actions that are named by their commits, on Go of the version that go.mod wants.
func readWorkflow(t *testing.T, file string) workflow {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var w workflow
	if err := decoder.Decode(&w); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindStringSubmatch(string(module))[1]
	for name, job := range w.Jobs {
		for _, step := range job.Steps {
			if step.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(step.Uses) {
				t.Errorf("%s: %s: %s is not named by its commit", file, name, step.Uses)
			}
			if got, is := step.With["go-version"]; is && got != version {
				t.Errorf("%s: %s: Go %s, and go.mod wants %s", file, name, got, version)
			}
		}
		if image := job.Container.Image; image != "" && !strings.HasPrefix(image, "golang:"+version+"-") {
			t.Errorf("%s: %s: the image %s, and go.mod wants Go %s", file, name, image, version)
		}
	}
	return w
}

// commands are what the steps of a job run.
func (w workflow) commands(job string) (all string) {
	for _, step := range w.Jobs[job].Steps {
		all += step.Run + "\n"
	}
	return all
}

// The page about installation says who signs: a workflow of this repository, which runs for the page's tag, and may sign.
func TestWorkflowThatSigns(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`--certificate-identity ` + regexp.QuoteMeta(repository) + `(\S+)@refs/tags/(\S+)\n`).FindStringSubmatch(string(page))
	if said == nil {
		t.Fatal("docs/install.md names no workflow at a tag")
	}
	w := readWorkflow(t, said[1])
	if tags := w.On["push"].Tags; len(w.On) != 1 || len(tags) != 1 || len(w.On["push"].Branches) > 0 {
		t.Errorf("%s runs for other things than tags: %+v", said[1], w.On)
	} else if is, err := path.Match(tags[0], said[2]); err != nil || !is {
		t.Errorf("%s runs for %s, not for %s: %v", said[1], tags, said[2], err)
	}
	for _, may := range []string{"contents", "packages", "id-token"} {
		if w.Jobs["release"].Permissions[may] != "write" || w.Permissions[may] == "write" {
			t.Errorf("only the job that makes the release may write %s: %+v", may, w)
		}
	}
	commands := w.commands("release")
	if w.Jobs["release"].Environment == "" {
		t.Errorf("%s makes releases that nobody has to approve", said[1])
	}
	for _, want := range []string{"git merge-base --is-ancestor HEAD origin/main\n", "bash .ci/release-tools\n", `bash .ci/release-notes "$GITHUB_REF_NAME" >`, "PATH=$PWD/.ci/bin:$PATH goreleaser release --clean --release-notes "} {
		if !strings.Contains(commands, want) {
			t.Errorf("%s does not run %q:\n%s", said[1], want, commands)
		}
	}
}

// A change runs all of CI, and a release does before anything else.
func TestWorkflowThatTests(t *testing.T) {
	release := readWorkflow(t, ".github/workflows/release.yml")
	tests := release.Jobs[release.Jobs["release"].Needs].Uses
	if !strings.HasPrefix(tests, "./") {
		t.Fatalf("a release needs %q, which is no workflow of this repository", tests)
	}
	w := readWorkflow(t, strings.TrimPrefix(tests, "./"))
	_, forChanges := w.On["pull_request"]
	if !forChanges || !slices.Equal(w.On["push"].Branches, []string{"main"}) || !strings.Contains(w.commands("test"), "bash .ci/run\n") {
		t.Errorf("%s: %+v", tests, w)
	}
}
