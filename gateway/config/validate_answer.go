package config

import (
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"text/template"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

const (
	maxBody      = 64 << 10 // bytes of a body that is a template, and of what it makes
	filledLength = 512      // bytes, more or less, of what a template is tried with
)

// BodyFields are what the template of [Answer.Body] has.
type BodyFields struct {
	ID         string   // of the denial; empty for none
	Route      string   // the name of the route
	Limits     []string // names of those that denied
	RetryAfter int64    // seconds until the request may pass; 0 when that is not known
	Status     int      // of the answer
}

// Template is Body made ready to be executed with [BodyFields]; nil when there is none.
func (a Answer) Template() (*template.Template, error) {
	if a.Body == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	return template.New("body").Option("missingkey=error").Parse(a.Body)
}

// answer checks that of a route, or that of the document, which has no route.
func (f *findings) answer(path string, a Answer, of *Route) {
	f.dialect(path, a, of)
	for i, form := range a.Headers {
		switch {
		case form == FormNone && len(a.Headers) > 1:
			f.add(strictyaml.Item(path+".headers", i), "none cannot be combined with other forms")
		case form != FormNone && !slices.Contains(HeaderForms(), form):
			f.add(strictyaml.Item(path+".headers", i), "%.64q is not known: use %s, or %s alone", form, strings.Join(HeaderForms(), ", "), FormNone)
		}
	}
	f.different(path+".headers", a.Headers)
	within(f, path+".status", a.Status, 400, 599)
	if a.Redirect != "" {
		f.check(path+".redirect", checkRedirect(a.Redirect))
		if a.Status != 0 {
			f.add(path+".status", "has no effect with redirect, which answers 303: leave one out")
		}
		if a.Body != "" {
			f.add(path+".body", "has no effect with redirect: leave one out")
		}
	}
	f.check(path+".body", a.tryBody())
	if a.ContentType == "" {
		return
	}
	_, _, err := mime.ParseMediaType(a.ContentType)
	if err != nil || !strings.Contains(a.ContentType, "/") || strings.ContainsFunc(a.ContentType, func(r rune) bool { return r < ' ' || r > '~' }) {
		f.add(path+".content_type", "%.64q is not a media type, such as text/html; charset=utf-8", a.ContentType)
	}
	if a.Body == "" {
		f.add(path+".content_type", "has no effect without body: write one, or leave this out")
	}
}

// checkRedirect says what is wrong with where denied clients are sent.
func checkRedirect(text string) error {
	filled := strings.NewReplacer("{id}", "id", "{route}", "route").Replace(text)
	if strings.ContainsAny(filled, "{}") {
		return fmt.Errorf("%.64q has a brace that does not belong to {id} or {route}", text)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return fmt.Errorf("%.64q has a space, a backslash or a character that is not ASCII: escape it, as in %%20", text)
	}
	// After a second slash, browsers would take what follows for a host.
	if strings.HasPrefix(filled, "/") && !strings.HasPrefix(filled, "//") {
		filled = "https://host" + filled
		text = "https://host" + text
	}
	if _, err := parseURL(filled, "http", "https"); err != nil {
		return err
	}
	if _, rest, _ := strings.Cut(text, "://"); strings.Contains(strings.SplitN(rest, "/", 2)[0], "{") {
		return errors.New("has {id} or {route} in its host: they are allowed after the host only")
	}
	return nil
}

// tryBody says what is wrong with the template of the body: it is executed with nothing and with everything filled in.
func (a Answer) tryBody() error {
	if len(a.Body) > maxBody {
		return fmt.Errorf("%d bytes are too many: at most %d", len(a.Body), maxBody)
	}
	t, err := a.Template()
	if err != nil || t == nil {
		return templateError(err)
	}
	full := BodyFields{
		ID: strings.Repeat("a", filledLength), Route: strings.Repeat("r", maxName), Limits: []string{"first", "second"},
		RetryAfter: 60, Status: a.StatusCode(),
	}
	for _, fields := range []BodyFields{{}, full} {
		room := room(maxBody)
		if err := t.Execute(&room, fields); err != nil {
			return templateError(err)
		}
	}
	return nil
}

func templateError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errNoRoom) {
		return fmt.Errorf("makes more than %d bytes", maxBody)
	}
	return fmt.Errorf("is not a valid template: %w", err)
}

// room counts the bytes that may still be written.
type room int

var errNoRoom = errors.New("too long")

func (r *room) Write(p []byte) (int, error) {
	if *r -= room(len(p)); *r < 0 {
		return 0, errNoRoom
	}
	return len(p), nil
}
