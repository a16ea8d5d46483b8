package clustertests

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
)

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
		// The files that documents name are not there: gateway/config reads them whole.
		text := regexp.MustCompile(`(?s)identity:.*?\nroutes:`).ReplaceAllString(texts[2], "routes:")
		doc, err := config.Parse([]byte(regexp.MustCompile(`(jwt|api_key)\.(\w+)`).ReplaceAllString(text, "header.X-$2")), t.TempDir())
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if problems := gateway.Problems(doc, limits); len(problems) > 0 {
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
