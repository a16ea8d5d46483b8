package chart

import (
	"strings"
	"testing"
)

// TestNotes reads what helm says after an installation: it names the release's own pods, and nothing that is missing.
func TestNotes(t *testing.T) {
	c := loadChart(t)
	for _, s := range sets(t) {
		all, err := render(c, s.values, s.there)
		if err != nil {
			t.Fatal(err)
		}
		notes, name := all["jeton/templates/NOTES.txt"], "jeton"
		if s.name == "secure" {
			name = "limits"
		}
		if !strings.Contains(notes, "kubectl -n limits exec "+name+"-0 -- jeton cluster status\n") {
			t.Errorf("%s: the notes do not say how to ask a node:\n%s", s.name, notes)
		}
		if told := strings.Contains(notes, "exec "+name+"-0 -- jeton cluster upgrade\n"); told != (len(s.there) > 0) {
			t.Errorf("%s: the notes tell of jeton cluster upgrade: %t; they should after an upgrade alone:\n%s", s.name, told, notes)
		}
		for _, wrong := range []string{"<no value>", "%!", "\n\n\n"} {
			if strings.Contains(notes, wrong) {
				t.Errorf("%s: the notes have %q:\n%s", s.name, wrong, notes)
			}
		}
		t.Logf("%s:\n%s", s.name, notes)
	}
}
