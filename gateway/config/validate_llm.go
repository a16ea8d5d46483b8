package config

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/llm"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

const (
	maxOutput = 1_000_000_000 // tokens
	maxModel  = 256           // bytes of the name of a model
	maxHeld   = 24 * time.Hour
)

// llm checks the llm of a route.
func (f *findings) llm(path string, r *Route) {
	l := r.LLM
	if l == nil {
		return
	}
	if f.document.Proxy == nil {
		f.add(path, "needs the proxy, which reads requests and answers: add proxy, or leave llm out")
	}
	f.api(path, l)
	within(f, path+".default_output", l.DefaultOutput, 1, maxOutput)
	within(f, path+".least_output", l.LeastOutput, 1, maxOutput)
	f.duration(path+".hold", l.Hold, time.Second, maxHeld)
	if s := l.QuotaStatus; s != 0 && s != http.StatusTooManyRequests && s != http.StatusForbidden {
		f.add(path+".quota_status", "%d is not 429 or 403", s)
	}
	counts := func(unit string) bool {
		return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Unit() == unit })
	}
	if l.Weights != nil {
		f.rates(path+".weights", *l.Weights)
		if !counts(CountsTokens) && !counts(CountsInput) && !counts(CountsOutput) {
			f.add(path+".weights", "has no effect without a check that counts tokens, input or output: add counts: tokens to one, or leave it out")
		}
	}
	f.prices(path+".prices", l.Prices)
	switch money := counts(CountsMoney); {
	case money && len(l.Prices) == 0:
		f.add(path+".prices", "is missing, and a check counts money: write the prices of a million tokens, as in {gpt-x: {input: 2.50, output: 10}}")
	case !money && len(l.Prices) > 0:
		f.add(path+".prices", "has no effect without a check that counts money: add counts: money to one, or leave it out")
	case !money && l.QuotaStatus != 0:
		f.add(path+".quota_status", "has no effect without a check that counts money: add counts: money to one, or leave it out")
	}
}

// api checks the form of requests and answers.
func (f *findings) api(path string, l *LLM) {
	api, err := llm.ParseAPI(l.API)
	switch {
	case l.API == "":
		f.add(path+".api", "is missing: use %s", strings.Join(llm.APIs(), ", "))
		return
	case err != nil:
		f.oneOf(path+".api", l.API, llm.APIs()...)
		return
	case api != llm.Custom:
		if l.Paths != nil {
			f.add(path+".paths", "has no effect with %s, whose fields are known: leave it out, or write api: custom", api)
		}
		return
	case l.Paths == nil:
		f.add(path+".paths", "is missing: name where an answer has its tokens, as in {input: usage.in, output: usage.out}")
		return
	}
	if _, err := llm.NewFormat(llm.Paths(*l.Paths)); err != nil {
		if wrong, ok := errors.AsType[*llm.FieldError](err); ok {
			f.add(path+".paths."+wrong.Field, "%s", wrong.Problem)
		} else {
			f.check(path+".paths", err)
		}
	}
	if l.LeastOutput > 0 && l.Paths.MaxOutput == "" {
		f.add(path+".least_output", "needs paths.max_output, the field of a request to be lowered: name it, or leave least_output out")
	}
}

// prices checks those of all models.
func (f *findings) prices(path string, prices map[string]Rates) {
	for _, model := range sorted(prices) {
		at := strictyaml.Under(path, model)
		if name := strings.TrimSuffix(model, "*"); model == "" || len(model) > maxModel || strings.Contains(name, "*") {
			f.add(at, "%.64q is not a model: write its name, of at most %d bytes, with a * at its end for all models that begin so", model, maxModel)
		}
		r := prices[model]
		f.rates(at, r)
		for _, need := range []struct {
			name string
			rate Decimal
		}{{"input", r.Input}, {"output", r.Output}} {
			if need.rate == "" {
				f.add(at+"."+need.name, "is missing: write the price of a million tokens, such as 2.50")
			}
		}
	}
}

// rates checks the numbers of weights or of a price.
func (f *findings) rates(path string, r Rates) {
	for _, rate := range []struct {
		name string
		text Decimal
	}{{"input", r.Input}, {"output", r.Output}, {"cached", r.Cached}, {"cache_write", r.CacheWrite}, {"reasoning", r.Reasoning}} {
		if rate.text == "" {
			continue
		}
		if _, err := llm.ParseDecimal(string(rate.text)); err != nil {
			f.add(path+"."+rate.name, "%s", err)
		} else if strings.HasPrefix(string(rate.text), "0") && len(rate.text) > 1 && rate.text[1] != '.' {
			f.add(path+"."+rate.name, "%q begins with 0, by which YAML means another number: leave the zeros out", rate.text)
		}
	}
}

// counts checks what a check counts, and what cannot stand beside it.
func (f *findings) counts(path string, c *Check, r *Route) {
	unit := c.Unit()
	f.oneOf(path+".counts", c.Counts, Counted()...)
	if unit == CountsRequests || !slices.Contains(Counted(), unit) {
		return
	}
	if r.LLM == nil {
		f.add(path+".counts", "%s needs llm in the route, which says how to read them: add it, or leave counts out", unit)
		return
	}
	why := "which are estimated and settled by the answer"
	if unit == CountsStreams {
		why = "each of which takes one permit"
	}
	if c.Cost != (Cost{}) {
		f.add(path+".cost", "stands beside counts: %s, %s: leave one of them out", unit, why)
	}
	if c.Wait != 0 {
		f.add(path+".wait", "stands beside counts: %s: it is taken at once or not at all: leave one of them out", unit)
	}
	if c.Shadow {
		f.add(path+".shadow", "stands beside counts: %s: a shadow check sees no answer, and so can settle nothing: leave one of them out", unit)
	}
	if unit == CountsStreams && c.OnUnavailable == limit.Local {
		f.add(path+".on_unavailable", "local has no effect with counts: streams, whose permits only the cluster can count: write allow or deny")
	}
}

// dialect checks headers in the form of an API.
func (f *findings) dialect(path string, a Answer, r *Route) {
	form := a.Dialect()
	if form == "" {
		return
	}
	at := strictyaml.Item(path+".headers", slices.Index(a.Headers, form))
	if r == nil || r.LLM == nil {
		f.add(at, "%s is for the answer of a route with llm: leave it out here", form)
	}
	if slices.Contains(a.Headers, FormOpenAI) && slices.Contains(a.Headers, FormAnthropic) {
		f.add(at, "openai and anthropic exclude each other: leave one of them out")
	}
	for _, other := range []struct {
		field string
		given bool
	}{{"status", a.Status != 0}, {"redirect", a.Redirect != ""}, {"body", a.Body != ""}} {
		if other.given {
			f.add(path+"."+other.field, "%s", fmt.Sprintf("has no effect with headers: [%s], whose API says how a denial is answered: leave one of them out", form))
		}
	}
}
