package simulate_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/simulate"
)

// Names of fields are text from outside: they forge no line of the report, are not as long as they like, and are not
// suggested for a shell.
func TestNamesOfFieldsForgeNothing(t *testing.T) {
	for _, name := range []string{`a\nforged 20 0`, `a'; touch x; '`, strings.Repeat("A", 900_000), `\u001b[2J`, ``} {
		log := strings.Repeat(`{"time": 1700000000, "key": "u"}`+"\n", 20) + `{"` + name + `": 1, "time": 1700000030}` + "\n"
		doc, err := limit.ParseDocument([]byte("limits: {a: {capacity: 5, refill: 1/s}}"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := simulate.Run(simulate.Config{Logs: []simulate.Log{{Name: "log", Text: strings.NewReader(log)}}, Limits: doc, Columns: 30})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := r.Print(&out, simulate.Style{Plain: true}); err != nil {
			t.Fatal(err)
		}
		if said := out.String(); len(said) > 10_000 || strings.Contains(said, "forged") || strings.Contains(said, "touch") || strings.Contains(said, "\x1b") {
			t.Errorf("a field called %.40q makes the report\n%.2000s", name, said)
		}
	}
}
