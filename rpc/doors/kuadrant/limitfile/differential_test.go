package limitfile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// A clause is a comparison of an entry, which a small reference decides by itself.
type clause struct {
	descriptor int
	key, value string
	differs    bool
	roundabout bool // it is written so that it needs CEL
}

func (c clause) text() string {
	entry, op := fmt.Sprintf("descriptors[%d][%q]", c.descriptor, c.key), "=="
	if c.differs {
		op = "!="
	}
	if c.roundabout {
		return fmt.Sprintf("(%s %s %q) && true", entry, op, c.value)
	}
	return fmt.Sprintf("%s %s %q", entry, op, c.value)
}

func (c clause) holds(descriptors []entries) bool {
	if c.descriptor >= len(descriptors) {
		return false
	}
	value, there := descriptors[c.descriptor][c.key]
	return there && (value == c.value) != c.differs
}

// A modelLimit is a limit, as the reference has it.
type modelLimit struct {
	name      string
	clauses   []clause
	variables [][2]any // descriptor and key
}

func (m modelLimit) applies(descriptors []entries) (values string, ok bool) {
	for _, c := range m.clauses {
		if !c.holds(descriptors) {
			return "", false
		}
	}
	var sources, found []string
	for _, v := range m.variables {
		d, key := v[0].(int), v[1].(string)
		if d >= len(descriptors) {
			return "", false
		}
		value, there := descriptors[d][key]
		if !there {
			return "", false
		}
		source := fmt.Sprintf("descriptors[%d][%q]", d, key)
		if !slices.Contains(sources, source) {
			sources, found = append(sources, source), append(found, source+"\x00"+value)
		}
	}
	slices.Sort(found)
	for _, f := range found {
		_, value, _ := strings.Cut(f, "\x00")
		values += "|" + value
	}
	return values, true
}

// Random limits and requests: what applies, and by which values, is what a small reference says, whether a condition needs CEL or not.
func TestMatchAgainstAReference(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	applied := 0
	for range 400 {
		var b strings.Builder
		var model []modelLimit
		for i := range 1 + r.IntN(6) {
			m := modelLimit{name: fmt.Sprint("l", i)}
			fmt.Fprintf(&b, "- {namespace: ns, max_value: 1, seconds: %d, name: %s, conditions: [", i+1, m.name)
			for range r.IntN(3) {
				c := clause{r.IntN(3), pick("a", "b.c", "d e"), pick("1", "2", ""), r.IntN(3) == 0, r.IntN(2) == 0}
				m.clauses = append(m.clauses, c)
				fmt.Fprintf(&b, "'%s', ", c.text())
			}
			b.WriteString("], variables: [")
			for range r.IntN(3) {
				v := [2]any{r.IntN(2), pick("a", "b.c", "d e")}
				m.variables = append(m.variables, v)
				fmt.Fprintf(&b, "'descriptors[%d][%q]', ", v[0], v[1])
			}
			b.WriteString("]}\n")
			model = append(model, m)
		}
		s := parse(t, b.String())
		for range 20 {
			var descriptors []entries
			for range r.IntN(4) {
				d := entries{}
				for range r.IntN(4) {
					d[pick("a", "b.c", "d e")] = pick("1", "2", "")
				}
				descriptors = append(descriptors, d)
			}
			want := map[string]string{}
			for _, m := range model {
				if values, ok := m.applies(descriptors); ok {
					want[m.name] = values
				}
			}
			matches, err := s.Match("ns", descriptors)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			got := map[string]string{}
			for _, m := range matches {
				for _, l := range m.Limits {
					got[l.Label] = m.Key[len("ns|")+32:]
				}
			}
			applied += len(got)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d:\n%s%v\ngot  %v\nwant %v", seed, b.String(), descriptors, got, want)
			}
		}
	}
	if applied < 1000 {
		t.Errorf("seed %d: only %d limits applied", seed, applied)
	}
}

// A file from anywhere is read or refused, and what is read can be asked.
func FuzzParse(f *testing.F) {
	f.Add(oneLimit([]string{"descriptors[0].a == '1'"}, []string{"descriptors[0].b"}), "1", "2")
	f.Add(oneLimit([]string{"descriptors.exists(d, d.a == limit.name)"}, []string{"int(descriptors[0].b) + 1"}), "named", "2")
	f.Add("- &a {namespace: ns, max_value: 1, seconds: 1, conditions: [], variables: []}\n- *a\n", "", "")
	f.Add("- {namespace: ns, seconds: 0x10, conditions: , variables: [descriptors[0].a.b.c]}\n", "", "")
	f.Add("[[[[", "", "")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		s, problems := limitfile.Parse([]limitfile.File{{Name: "f.yaml", Text: []byte(text)}})
		if len(problems) > 0 && len(s.Limits) > 0 {
			t.Fatalf("%v and %v", s, problems)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Text == "" {
				t.Errorf("%+v", p)
			}
		}
		for _, l := range s.Limits {
			all, err := s.Match(l.Namespace, []entries{{"a": a, "b": b}})
			for _, m := range all {
				if len(m.Key) > 512 || len(m.Limits) == 0 || err != nil {
					t.Errorf("%+v, %v", m, err)
				}
			}
		}
	})
}

// BenchmarkMatch finds the one of a hundred limits that a request has.
func BenchmarkMatch(b *testing.B) {
	for name, condition := range map[string]string{"compared": "descriptors[0]['limit.%d'] == '1'", "by CEL": "descriptors[0]['limit.%d'] == '1' && true"} {
		b.Run(name, func(b *testing.B) {
			var text strings.Builder
			for i := range 100 {
				fmt.Fprintf(&text, "- namespace: ns\n  max_value: 1\n  seconds: 60\n  conditions: [\""+condition+"\"]\n  variables: [\"descriptors[0].user\"]\n", i)
			}
			s := parse(b, text.String())
			d := []entries{{"limit.7": "1", "user": "alice"}}
			for b.Loop() {
				if all, err := s.Match("ns", d); err != nil || len(all) != 1 {
					b.Fatal(all, err)
				}
			}
		})
	}
}
