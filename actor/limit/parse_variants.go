package limit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/internal/strictyaml"
	"go.yaml.in/yaml/v3"
)

// maxLengths is how many lengths the prefixes of a limit have in a document; those that are set live have as many.
const maxLengths = 64

// readVariants reads the fields plans and overrides of a limit, which are nil where they are not given. It is nil for neither.
func (d *Document) readVariants(base *Rule, path string, plans, list *yaml.Node) (*variants, error) {
	if plans == nil && list == nil {
		return nil, nil
	}
	v := &variants{}
	if plans != nil {
		err := eachField(plans, path+".plans", func(key, value *yaml.Node) error {
			where := path + ".plans." + key.Value
			if err := d.another(where, key); err != nil {
				return err
			}
			return v.readPlan(base, where, key, value)
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(v.plans, func(a, b *Plan) int { return cmp.Compare(a.Name, b.Name) })
	}
	if list == nil || isNull(list) {
		return v, nil
	}
	if list.Kind == yaml.AliasNode {
		list = list.Alias
	}
	if list.Kind != yaml.SequenceNode {
		return nil, at(list, path+".overrides", `is not a list, as in [{key: "org:acme:*", capacity: 500}]`)
	}
	rules, lines, lengths := map[Limit]*Rule{}, map[string]int{}, map[int]bool{}
	for i, item := range list.Content {
		where := strictyaml.Item(path+".overrides", i)
		if err := d.another(where, item); err != nil {
			return nil, err
		}
		o, err := readOverride(base, where, item)
		if err != nil {
			return nil, err
		}
		if line, twice := lines[o.Key]; twice {
			return nil, at(item, where+".key", fmt.Sprintf("%s has an override already, at line %d", Quote(o.Key), line))
		}
		lines[o.Key] = item.Line
		if begin, is := prefix(o.Key); is {
			lengths[len(begin)] = true
		}
		if len(lengths) > maxLengths {
			return nil, at(item, where+".key", fmt.Sprintf("is a prefix of one more length than the %d that those of a limit may have, since a check looks once for each: "+
				"write one that is as long as another", maxLengths))
		}
		share(rules, o)
		v.written = append(v.written, o)
	}
	return v, nil
}

// readPlan reads one plan.
func (v *variants) readPlan(base *Rule, path string, key, value *yaml.Node) error {
	if err := validateName(key.Value); err != nil {
		return at(key, path, strings.TrimPrefix(err.Error(), "name: "))
	}
	n := base.numbers("a plan", "")
	lines := map[string]*yaml.Node{}
	err := eachField(value, path, func(field, v *yaml.Node) error {
		lines[field.Value] = v
		return n.read(path, field, v, maySay)
	})
	if err != nil {
		return err
	}
	if n.has == (given{}) {
		return at(key, path, "says nothing: set "+strings.Join(maySay, ", "))
	}
	rule, err := n.rule(base)
	if err != nil {
		return placed(err, path, key, lines)
	}
	v.plans = append(v.plans, &Plan{Name: strings.Clone(key.Value), Says: n.String(), Rule: rule})
	return nil
}

// read reads a number from a document. known are the fields that may stand there.
func (n *numbers) read(path string, field, v *yaml.Node, known []string) error {
	if !slices.Contains(maySay, field.Value) {
		problem := strictyaml.Unknown(field, path, n.what+" has", known)
		if fieldCalled(field.Value) >= 0 {
			problem.Text = fmt.Sprintf("is the limit's own: %s sets %s", n.what, strings.Join(known, ", "))
		}
		return fieldError(problem)
	}
	one, err := scalar(v, path+"."+field.Value)
	if err != nil {
		return err
	}
	if err := n.set(field.Value, one.Value, true); err != nil {
		return at(v, path+"."+field.Value, strings.TrimPrefix(err.Error(), field.Value+": "))
	}
	return nil
}

// ofOverride are the fields of an override in a document.
var ofOverride = append([]string{"key", "deny", "allow"}, maySay...)

// readOverride reads one override.
func readOverride(base *Rule, path string, item *yaml.Node) (*Overriding, error) {
	out := &Overriding{Override: Override{Limit: base.Name}, Rule: base, Written: true}
	n := base.numbers("an override", ", or deny or allow")
	lines := map[string]*yaml.Node{}
	err := eachField(item, path, func(field, v *yaml.Node) error {
		lines[field.Value] = v
		switch field.Value {
		case "key":
			one, err := scalar(v, path+".key")
			if err == nil {
				out.Key = strings.Clone(one.Value)
			}
			return err
		case "deny", "allow":
			return out.readVerdict(path, field, v)
		}
		return n.read(path, field, v, ofOverride)
	})
	if err != nil {
		return nil, err
	}
	where := item
	if lines["key"] == nil {
		return nil, at(where, path+".key", `is missing: write a key, or the beginning of keys, such as "org:acme:*"`)
	}
	switch numbers := n.has != (given{}); {
	case out.Verdict != Decides && numbers:
		return nil, at(where, path+"."+out.Says, "every check gets this answer, whatever the numbers: leave "+n.String()+" out")
	case out.Verdict == Decides && !numbers:
		return nil, at(where, path, errSaysNothing.Problem)
	case numbers:
		out.Says = n.String()
		out.Rule, err = n.rule(base)
	}
	if err = cmp.Or(out.checkKey(), err); err != nil {
		return nil, placed(err, path, where, lines)
	}
	out.Text = out.String() + ", of the limits document"
	return out, nil
}

// readVerdict reads the field deny or allow.
func (o *Overriding) readVerdict(path string, field, v *yaml.Node) error {
	one, err := scalar(v, path+"."+field.Value)
	switch {
	case err != nil:
		return err
	case one.Value != "true":
		return at(v, path+"."+field.Value, "is not true: write true, or leave it out")
	case o.Verdict != Decides:
		return at(v, path+"."+field.Value, "contradicts "+o.Says+": leave one of them out")
	}
	o.Says, o.Verdict = "deny", Denies
	if field.Value == "allow" {
		o.Says, o.Verdict = "allow", Passes
	}
	return nil
}
