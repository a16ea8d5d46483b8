package answer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
)

// The examples of docs/headers.md are what is written, but for the spelling of names and the layout of JSON.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/headers.md")
	if err != nil {
		t.Fatal(err)
	}
	login, daily := ruleOf(t, "login", 10, "1/s"), ruleOf(t, "daily", 1000, "1000/24h")
	told := func(form string, quotas ...answer.Quota) string {
		h := http.Header{}
		newWriter(t, config.Answer{Headers: []string{form}}).Tell(h, quotas)
		return lines(h)
	}
	refused := func(redirect string) string {
		rec := refuse(t, config.Answer{Redirect: redirect}, &answer.Refusal{
			Quotas: []answer.Quota{after(daily, 10, 3), after(login, 9, 3)}, ID: "edge-7-k3v9", Route: "sign in",
			Detail: "too many requests: the limit login is exhausted; try again in 2s",
		})
		rec.Header().Del("Content-Length")
		text := fmt.Sprintf("HTTP/1.1 %d %s\n%s", rec.Code, http.StatusText(rec.Code), lines(rec.Header()))
		if rec.Body.Len() == 0 {
			return text
		}
		var body bytes.Buffer
		if err := json.Indent(&body, rec.Body.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		return text + "\n" + body.String()
	}
	call := refuse(t, config.Answer{Status: 503, Body: "busy"}, &answer.Refusal{
		Quotas: []answer.Quota{after(daily, 10, 3), after(login, 9, 3)}, ID: "edge-7-k3v9", Call: codes.ResourceExhausted,
		Detail: "too many requests: the limit login is exhausted; try again in 2s",
	})
	inHTTP2 := fmt.Sprintf("HTTP/2 %d\n", call.Code)
	for line := range strings.Lines(lines(call.Header())) {
		name, value, _ := strings.Cut(line, ":")
		inHTTP2 += strings.ToLower(name) + ":" + value
	}
	spelled := strings.NewReplacer("Ratelimit", "RateLimit")
	for _, want := range []string{
		told("ratelimit", after(login, 6, 1)), told("ratelimit", after(daily, 100, 1), after(login, 2, 1)),
		told("ratelimit-03", after(login, 6, 1)), told("x-ratelimit", after(login, 6, 1)),
		refused(""), refused("https://help.example/limits/{id}?from={route}"),
		inHTTP2,
	} {
		if block := "```\n" + spelled.Replace(want) + "```"; !bytes.Contains(page, []byte(block)) {
			t.Errorf("docs/headers.md does not have\n%s", block)
		}
	}
	w := newWriter(t, config.Answer{})
	for k := answer.Exceeded; w.Status(k) != http.StatusInternalServerError; k++ {
		var p struct{ Type string }
		if err := json.Unmarshal(refuse(t, config.Answer{}, &answer.Refusal{Kind: k}).Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if row := fmt.Sprintf("| %#q | %d", p.Type, w.Status(k)); !bytes.Contains(page, []byte(row)) {
			t.Errorf("docs/headers.md does not have %s, of %s", row, k)
		}
	}
}
