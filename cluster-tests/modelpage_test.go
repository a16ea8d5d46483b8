package clustertests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	apikeys "github.com/jeton-dev/jeton/gateway/keys"
)

// makeKeys makes the keys that the comments of a document say how to make, in the files that it names, in dir.
func makeKeys(t *testing.T, dir, document string) {
	t.Helper()
	for _, made := range regexp.MustCompile(`# jeton keys make (.*)`).FindAllStringSubmatch(document, -1) {
		var file string
		k := apikeys.Key{Digest: apikeys.DigestOf(apikeys.Make()), Attributes: map[string]string{}}
		for flag := range slices.Chunk(strings.Fields(made[1]), 2) {
			switch value := flag[1]; flag[0] {
			case "--file":
				file = filepath.Join(dir, value)
			case "--label":
				k.Label = value
			case "--owner":
				k.Owner = value
			case "--attribute":
				name, of, _ := strings.Cut(value, "=")
				k.Attributes[name] = of
			default:
				t.Fatalf("%s: unknown to this test", made[0])
			}
		}
		if err := apikeys.Add(file, k); err != nil {
			t.Fatalf("%s: %v", made[0], err)
		}
	}
}

// Each document of docs/llm.md asks for the limits above it, which can count what it counts; and the program there is the one that
// cmd/bench/modelsdk compiles and runs.
func TestPageOfModels(t *testing.T) {
	page, err := os.ReadFile("../docs/llm.md")
	if err != nil {
		t.Fatal(err)
	}
	pair := regexp.MustCompile("(?s)```yaml\n(# limits.yaml\n.*?)```\n+```yaml\n(# gateway.yaml\n.*?)```")
	found := pair.FindAllStringSubmatch(string(page), -1)
	if len(found) != 4 {
		t.Errorf("%d pairs of limits and a document", len(found))
	}
	asked := map[string]bool{}
	for _, texts := range found {
		limits, err := limit.ParseDocument([]byte(texts[1]))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		makeKeys(t, dir, texts[2])
		doc, err := config.Parse([]byte(texts[2]), dir)
		if err != nil {
			t.Fatalf("%v in\n%s", err, texts[2])
		}
		for _, warning := range doc.Warnings() {
			t.Errorf("%v in\n%s", warning, texts[2])
		}
		if problems := gateway.Problems(doc, "", limits); len(problems) > 0 {
			t.Errorf("%v in\n%s\n%s", problems, texts[1], texts[2])
		}
		for _, r := range doc.Routes {
			for i := range r.Checks {
				asked[r.Checks[i].Unit()] = true
			}
		}
	}
	for _, unit := range []string{config.CountsRequests, config.CountsTokens, config.CountsMoney, config.CountsStreams} {
		if !asked[unit] {
			t.Errorf("no document counts %s", unit)
		}
	}

	example, err := os.ReadFile("../cmd/bench/modelsdk/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(page))
	if len(program) == 0 || !strings.Contains(string(example), program[1]) {
		t.Error("the program of the page is not that of example_test.go")
	}
}
