package identity

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// A Key is what limits count for one client.
type Key struct {
	Text     string // 1 to 512 bytes of UTF-8
	Secret   bool   // made of a header or a cookie: logs show its hash
	Template string // that made it, as the document has it
}

// Templates make keys. They never change.
type Templates struct{ list []template }

// template is one of Templates.
//
//	user:{jwt.iss}:{jwt.sub}!  =  parts {"user:" jwt.iss, stop ':'} {":" jwt.sub}  tail "!"
type template struct {
	text   string
	parts  []part
	tail   string
	secret bool
}

// part is a variable and the text before it.
type part struct {
	literal  string
	variable Variable
	// stop is the first byte of the text between this variable and the next. appendValue escapes it in the value, so that the key
	// shows where the value ends. 0 for the last variable.
	stop byte
}

// Compile reads templates such as "user:{jwt.sub}". Its errors are *limit.FieldError whose field is "[i]", the template's
// number, and which name the variable that is wrong.
func (f *Finder) Compile(templates []string) (*Templates, error) {
	t := &Templates{list: make([]template, 0, len(templates))}
	for i, text := range templates {
		one, problem := f.compile(text)
		if problem != "" {
			return nil, &limit.FieldError{Field: fmt.Sprintf("[%d]", i), Problem: problem}
		}
		t.list = append(t.list, one)
	}
	if len(t.list) == 0 {
		return nil, &limit.FieldError{Field: "[0]", Problem: `is missing: write a template, such as "ip:{ip}"`}
	}
	return t, nil
}

// compile reads one template; problem is empty if there is none. That the text between two variables keeps them apart, and
// that there is little of it, is what config.ParseTemplate promises.
func (f *Finder) compile(text string) (t template, problem string) {
	parts, err := config.ParseTemplate(text)
	if err != nil {
		return t, err.Error()
	}
	t.text = text
	for _, p := range parts {
		if p.Variable.Kind == "" {
			t.tail = p.Text
			continue
		}
		v, problem := f.variable(p.Variable)
		if problem != "" {
			return t, fmt.Sprintf("%q: %s", text, problem)
		}
		if last := len(t.parts) - 1; last >= 0 {
			t.parts[last].stop = t.tail[0]
		}
		t.parts = append(t.parts, part{literal: t.tail, variable: v})
		t.tail = ""
		t.secret = t.secret || v.secret()
	}
	return t, ""
}

// Key is the key of the first template whose variables all have a value. ok is false when there is no such template.
func (t *Templates) Key(facts *Facts) (key Key, ok bool) {
	for i := range t.list {
		one := &t.list[i]
		if text, ok := one.fill(facts); ok {
			return Key{Text: text, Secret: one.secret, Template: one.text}, true
		}
	}
	return Key{}, false
}

// fill is the key, if all variables have a value.
func (t *template) fill(facts *Facts) (string, bool) {
	var space [limit.MaxKey]byte
	dst := space[:0]
	for i := range t.parts {
		p := &t.parts[i]
		dst = append(dst, p.literal...)
		switch p.variable.kind {
		case clientIP:
			client := facts.Client()
			if !client.IsValid() {
				return "", false
			}
			dst = facts.finder.addresses.appendIP(dst, client)
		case apiKey:
			if !facts.KnowsKey() {
				return "", false
			}
			dst = append(dst, facts.digest[:]...)
		default:
			value := p.variable.free(facts)
			if value == "" {
				return "", false
			}
			dst = appendValue(dst, value, p.stop)
		}
	}
	dst = append(dst, t.tail...)
	if len(dst) > limit.MaxKey {
		return t.short(dst), true
	}
	return string(dst), true
}

// short replaces a key that is too long by its hash. Only templates with several variables can make such a key. No other key of the
// template has this form, since the others have text after the first value.
func (t *template) short(key []byte) string {
	return string(appendHash([]byte(t.parts[0].literal), key, 0))
}
