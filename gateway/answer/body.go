package answer

import (
	"bytes"
	"fmt"
	"mime"
	"text/template"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// body makes the body of a denial from the template of the configuration.
type body struct {
	template    *template.Template
	contentType string
}

// newBody parses the template of a configuration and executes it once as a test; nil if there is none.
func newBody(cfg config.Answer) (*body, error) {
	t, err := cfg.Template()
	if t == nil && err == nil {
		return nil, nil //nolint:nilnil // no template is no error
	}
	b := &body{template: t, contentType: cfg.Type()}
	if err == nil {
		_, err = b.write(config.BodyFields{ID: "id", Route: "route", Limits: []string{"limit"}, RetryAfter: 1, Status: cfg.StatusCode()})
	}
	if err != nil {
		return nil, &limit.FieldError{Field: "body", Problem: err.Error() + ": it has .ID, .Route, .Limits, .RetryAfter and .Status"}
	}
	if _, _, err := mime.ParseMediaType(b.contentType); err != nil || visible(b.contentType) != b.contentType {
		return nil, &limit.FieldError{
			Field:   "content_type",
			Problem: fmt.Sprintf("%.64q is not a media type, such as text/html; charset=utf-8", cfg.ContentType),
		}
	}
	return b, nil
}

// render makes the body of r, which is answered with that status.
func (b *body) render(r *Refusal, status int) ([]byte, error) {
	wait, _ := r.RetryAfter()
	return b.write(config.BodyFields{ID: r.ID, Route: r.Route, Limits: r.violated(), RetryAfter: wait, Status: status})
}

func (b *body) write(fields config.BodyFields) ([]byte, error) {
	var text bytes.Buffer
	err := b.template.Execute(&text, fields)
	return text.Bytes(), err
}
