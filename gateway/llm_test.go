package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// TestChargedIsUsed asks models that go wrong in every way, as streams and not, of a bucket and of a window: what the answer says is
// charged, or else what is known, and nothing stays held.
func TestChargedIsUsed(t *testing.T) {
	const words, asked = 16, 200
	for _, name := range []string{"brief", "tokens", "month"} {
		for what, c := range map[string]struct {
			fault         fakemodel.Fault
			whole, stream string // the basis
			output        int64  // of a stream, where it is known
		}{
			"as it should be":    {fakemodel.NoFault, "usage", "usage", words},
			"no usage":           {fakemodel.NoUsage, "estimate", "events", 24}, // a quarter of the letters of its words
			"a lie":              {fakemodel.LyingUsage, "usage", "usage", 1},
			"a broken event":     {fakemodel.Break, "estimate", "events", 13}, // of half of them
			"an event of 10 MiB": {fakemodel.LongEvent, "usage", "usage", words},
			"gzip":               {fakemodel.Gzip, "usage", "usage", words},
			"an error":           {fakemodel.ErrorStatus, "none", "none", 0},
		} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, what, stream), func(t *testing.T) {
					t.Parallel()
					r := newModelRig(t, chat(name), fake(c.fault))
					a, err := r.ask(fakemodel.ChatPath, fmt.Sprintf(`{%s,"max_tokens":%d,"stream":%v}`, hello, asked, stream))
					if (err != nil) != (c.fault == fakemodel.Break) {
						t.Errorf("the client has read %d bytes with %v", len(a.Body), err)
					}
					x := r.exchange(a.Header).Exchange
					basis := c.whole
					if stream {
						basis = c.stream
					}
					if x.Basis != basis || len(x.Holds) != 1 || x.Holds[0].State != "settled" || x.Understated != (stream && c.fault == fakemodel.LyingUsage) {
						t.Fatalf("by %s, want %s: %+v", x.Basis, basis, x)
					}
					if (x.Unread != "") != (basis == "estimate") {
						t.Errorf("by %s, unread: %q", basis, x.Unread)
					}
					used := x.Used.Input + x.Used.Output
					h := x.Holds[0]
					if h.Charged != used || h.Asked != x.Input+x.Output || h.Granted != h.Asked || h.Returned != h.Granted-used || x.Output != asked {
						t.Errorf("used %d: %+v", used, h)
					}
					switch {
					case basis == "estimate" && used != h.Asked, basis == "none" && used != 0, stream && c.output > 0 && x.Used.Output != c.output:
						t.Errorf("used %+v", x.Used)
					case basis == "usage" && !stream && c.fault != fakemodel.Gzip && usageOf(t, a.Body) != used:
						t.Errorf("used %d, and the client has read %s", used, a.Body)
					}
					if name != "brief" { // which refills meanwhile
						r.wantSpent(name, used)
					}
					if _, held := r.spent(name); held != 0 {
						t.Errorf("%d stay held", held)
					}
					r.wantCount(1, "jeton_gateway_llm_exchanges_total", "route", "chat", "basis", basis)
					r.wantCount(1, "jeton_gateway_llm_settlements_total", "outcome", "done")
					if stream && c.fault == fakemodel.NoFault && strings.Contains(string(a.Body), "prompt_tokens") {
						t.Errorf("the client has read a usage that it has not asked for: %s", a.Body)
					}
				})
			}
		}
	}
}

// TestParallelRequestsStayWithin sends 500 requests of 1,000 tokens at once to a limit of 10,000, where charging afterwards lets all pass.
func TestParallelRequestsStayWithin(t *testing.T) {
	for _, name := range []string{"tokens", "month"} {
		gate := make(chan struct{})
		model := fakemodel.New(fakemodel.Config{Words: 900})
		r := newModelRig(t, chat(name), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			<-gate
			model.ServeHTTP(w, q)
		}))
		body := fmt.Sprintf(`{%s,"max_tokens":%d,"pad":%q}`, hello, 900, strings.Repeat("x", 300))
		var passed, denied, used atomic.Int64
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				a, err := r.ask(fakemodel.ChatPath, body)
				switch {
				case err != nil:
					t.Error(err)
				case a.StatusCode == http.StatusOK:
					passed.Add(1)
					used.Add(usageOf(t, a.Body))
				case a.StatusCode == http.StatusTooManyRequests:
					if denied.Add(1) == 490 {
						close(gate) // all others wait for the model meanwhile
					}
				default:
					t.Errorf("%d: %s", a.StatusCode, a.Body)
				}
			})
		}
		all.Wait()
		if passed.Load() != 10 {
			t.Errorf("%s: %d requests have passed, want 10", name, passed.Load())
		}
		r.wantSpent(name, used.Load())
	}
}

// TestLeast lowers the maximum of output to what is left, by the check that has least.
func TestLeast(t *testing.T) {
	route := strings.Replace(chat("tokens", "least_output: 16"), "counts: tokens}", "counts: tokens}\n  - {limits: [small], key: ['org:a'], counts: output}", 1)
	r := newModelRig(t, route, fake(fakemodel.NoFault))
	for i, body := range []string{`"max_tokens":5000`, `"max_completion_tokens":5000`, `"model":"gpt-x"`} {
		before, _ := r.spent("small")
		a, err := r.ask(fakemodel.ChatPath, "{"+hello+","+body+"}")
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", body, a.StatusCode, a.Body, err)
		}
		left := 100 - before
		x := r.exchange(a.Header).Exchange
		if got, _ := r.lastAsked(); x.Lowered != left || !strings.Contains(got, fmt.Sprintf(`tokens":%d`, left)) {
			t.Errorf("%d: lowered to %d, want %d: %s", i, x.Lowered, left, got)
		}
		r.wantSpent("small", before+16)
	}
	r.wantCount(3, "jeton_gateway_llm_lowered_total")
	// 52 are left. Where fewer than 16 are, the request is denied.
	for range 3 {
		a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":40}`)
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%d %s, %v", a.StatusCode, a.Body, err)
		}
		r.exchange(a.Header)
	}
	tokens, _ := r.spent("tokens")
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":40}`)
	if err != nil || a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("4 are left: %d %s, %v", a.StatusCode, a.Body, err)
	}
	r.wantSpent("tokens", tokens) // what the first check had held has come back
	if a.Header.Get("X-Jeton-Exchange") != "" || !strings.Contains(string(a.Body), `"code":"insufficient_quota"`) {
		t.Errorf("%v %s", a.Header, a.Body)
	}
	record, err := r.gateway.Recall(a.Header.Get("X-Request-Id"))
	if err != nil || record.Exchange == nil || record.Exchange.Output != 40 {
		t.Errorf("the denial is %+v, %v", record, err)
	}
}

// TestLaterCheckDenies gives back all that earlier checks have taken: tokens, a permit and a request.
func TestLaterCheckDenies(t *testing.T) {
	r := newModelRig(t, `
routes:
- name: chat
  path: /
  llm: {api: openai-chat}
  checks:
  - {limits: [requests], key: ['org:a']}
  - {limits: [tokens, month], key: ['org:a'], counts: tokens}
  - {limits: [streams], key: ['org:a'], counts: streams}
  - {limits: [few], key: ['org:a']}
`, fake(fakemodel.NoFault))
	first, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":40}`)
	if err != nil || first.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", first.StatusCode, first.Body, err)
	}
	used := usageOf(t, first.Body)
	r.wantSpent("tokens", used)
	r.wantSpent("month", used)
	r.wantSpent("streams", 0)
	for range 5 {
		a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":40}`)
		if err != nil || a.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("%d %s %v", a.StatusCode, a.Body, err)
		}
		r.wantSpent("tokens", used)
		r.wantSpent("month", used)
		record, err := r.gateway.Recall(a.Header.Get("X-Request-Id"))
		if err != nil || len(record.Limits) != 5 || record.Counts != "" {
			t.Fatalf("%+v %v", record, err)
		}
		for i, counts := range []string{"", "tokens", "tokens", "streams", ""} {
			if l := record.Limits[i]; l.Counts != counts || l.Earlier != (i < 4) {
				t.Errorf("limit %d: %+v", i, l)
			}
		}
	}
	r.wantSpent("streams", 0)
	r.wantSpent("requests", 1)
}

// TestHugeEstimate asks for more than any limit holds: it is denied, and never let through for being no valid cost.
func TestHugeEstimate(t *testing.T) {
	r := newModelRig(t, chat("tokens"), fake(fakemodel.NoFault))
	for _, body := range []string{`"max_tokens":9223372036854775807`, `"max_tokens":4611686018427387904,"n":9`, `"max_tokens":1000000000000`} {
		a, err := r.ask(fakemodel.ChatPath, "{"+hello+","+body+"}")
		if err != nil || a.StatusCode != http.StatusTooManyRequests || a.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %v %s %v", body, a.StatusCode, a.Header, a.Body, err)
		}
	}
	r.wantSpent("tokens", 0)
}

// TestBadRequests are refused in the dialect of the API, by the name of the field, and ask no limit.
func TestBadRequests(t *testing.T) {
	r := newModelRig(t, strings.Replace(chat("tokens"), "path: /", "path: /v1/chat", 1)+`
- name: messages
  path: /v1/messages
  llm: {api: anthropic-messages, prices: {claude-*: {input: 1, output: 2}}}
  checks: [{limits: [money], counts: money}]
`, fake(fakemodel.NoFault))
	for body, want := range map[string]string{
		``:                                   `not valid JSON`,
		`hello`:                              `not valid JSON`,
		`[]`:                                 `not a JSON object`,
		`{"max_tokens":-1}`:                  `"param":"max_tokens"`,
		`{"max_tokens":1e400}`:               `"param":"max_tokens"`,
		`{"max_tokens":9223372036854775808}`: `"param":"max_tokens"`,
		`{"max_tokens":5,"max_tokens":6}`:    `max_tokens: stands there twice`,
		`{"stream":"yes"}`:                   `"param":"stream"`,
	} {
		a, err := r.ask(fakemodel.ChatPath, body)
		if err != nil || a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.Body), want) || a.Header.Get("Content-Type") != "application/json" ||
			!strings.Contains(string(a.Body), `"type":"invalid_request_error"`) || a.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %s %v", body, a.StatusCode, a.Body, err)
		}
	}
	if a, err := r.ask(fakemodel.MessagesPath, `{"model":"gpt-x","max_tokens":5}`); err != nil || a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.Body), "no price") {
		t.Errorf("a model without a price: %d %s %v", a.StatusCode, a.Body, err)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address+fakemodel.ChatPath, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Encoding", "gzip")
	if a, err := r.client().Do(q); err != nil || a.StatusCode != http.StatusBadRequest || a.Body.Close() != nil {
		t.Errorf("a compressed body: %v %v", a, err)
	}
	for _, sized := range []bool{true, false} {
		var body io.Reader = strings.NewReader(strings.Repeat(" ", 11<<20))
		if !sized {
			body = io.MultiReader(body)
		}
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address+fakemodel.ChatPath, body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.client().Do(q)
		if err != nil {
			continue // the gateway has closed the connection before it was all sent
		}
		text, _ := io.ReadAll(a.Body)
		if a.Body.Close() != nil || a.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "request_too_large") ||
			!strings.Contains(string(text), "more than 10485760 bytes, the most that this gateway takes: proxy.max_body") {
			t.Errorf("11 MiB, length known: %v: %d %s", sized, a.StatusCode, text)
		}
	}
	r.wantSpent("tokens", 0)
	if body, _ := r.lastAsked(); body != "" {
		t.Errorf("the model got %s", body)
	}
}

// TestMoney holds and charges millionths by the prices of the model, and refuses with 403 where the document says so.
func TestMoney(t *testing.T) {
	r := newModelRig(t, `
routes:
- name: messages
  path: /v1/messages
  llm:
    api: anthropic-messages
    quota_status: 403
    prices: {claude-x: {input: 3, output: 15, cached: 0.3}, "*": {input: 30000, output: 1000000}}
  checks: [{limits: [money], key: ['org:a'], counts: money}]
`, fake(fakemodel.NoFault))
	a, err := r.ask(fakemodel.MessagesPath, `{"model":"claude-x","max_tokens":100,`+hello+`}`)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", a.StatusCode, a.Body, err)
	}
	u := r.exchange(a.Header).Exchange.Used
	micros := (3_000_000*(u.Input-u.Cached) + 300_000*u.Cached + 15_000_000*u.Output + 999_999) / 1_000_000
	if u.Cached == 0 || u.Output == 0 {
		t.Fatalf("used %+v", u)
	}
	r.wantSpent("money", micros)
	a, err = r.ask(fakemodel.MessagesPath, `{"model":"other","max_tokens":100,`+hello+`}`)
	if err != nil || a.StatusCode != http.StatusForbidden || !strings.Contains(string(a.Body), "permission_error") || a.Header.Get("Anthropic-Ratelimit-Tokens-Limit") != "" {
		t.Errorf("%d %v %s %v", a.StatusCode, a.Header, a.Body, err)
	}
	a, err = r.ask(fakemodel.MessagesPath, `{"model":"claude-x","max_tokens":66646,`+hello+`}`) // less than the limit, and more than is left
	if err != nil || a.StatusCode != http.StatusForbidden || !strings.Contains(string(a.Body), `"budget exceeded: the limit money is exhausted; try again in `) {
		t.Errorf("%d %s %v", a.StatusCode, a.Body, err)
	}
	if record, err := r.gateway.Recall(a.Header.Get("Request-Id")); err != nil || record.Counts != "money" || record.Limits[0].Counts != "money" || record.Limits[0].Earlier {
		t.Errorf("%+v %v", record, err)
	}
	r.wantSpent("money", micros)
}

// TestPriceOfTheModelThatAnswers holds by the price of the model that the request names, and settles by that of the one that the answer names.
func TestPriceOfTheModelThatAnswers(t *testing.T) {
	const usage = `"usage":{"input_tokens":10,"output_tokens":20}`
	for name, c := range map[string]struct {
		api, kind, answer string
		want              int64 // millionths
	}{
		"a dearer one":         {"openai-responses", "application/json", `{"model":"dear",` + usage + `}`, 3000},
		"after its usage":      {"openai-responses", "application/json", `{` + usage + `,"model":"dear"}`, 3000},
		"the same":             {"openai-responses", "application/json", `{"model":"cheap",` + usage + `}`, 30},
		"its version":          {"openai-responses", "application/json", `{"model":"cheap-2026-01-01",` + usage + `}`, 30},
		"one without a price":  {"openai-responses", "application/json", `{"model":"other",` + usage + `}`, 30},
		"nothing":              {"openai-responses", "application/json", `{` + usage + `}`, 30},
		"no text":              {"openai-responses", "application/json", `{"model":["dear"],` + usage + `}`, 30},
		"a name without end":   {"openai-responses", "application/json", `{"model":"dear` + strings.Repeat("r", 300) + `",` + usage + `}`, 30},
		"a stream":             {"openai-responses", "text/event-stream", "data: {\"response\":{\"model\":\"dear\"}}\n\ndata: {\"response\":{" + strings.ReplaceAll(usage, "\n", "") + "}}\n\n", 3000},
		"a stream of chunks":   {"openai-chat", "text/event-stream", "data: {\"model\":\"\",\"choices\":[]}\n\ndata: {\"model\":\"dear\",\"choices\":[{}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":20}}\n\n", 3000},
		"a stream of messages": {"anthropic-messages", "text/event-stream", "data: {\"type\":\"message_start\",\"message\":{\"model\":\"dear\"," + usage + "}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":20}}\n\n", 3000},
	} {
		r := newModelRig(t, "routes:\n- name: model\n  path: /\n  llm: {api: "+c.api+", prices: {cheap: {input: 1, output: 1}, dear*: {input: 100, output: 100}}}\n"+
			"  checks: [{limits: [money], key: ['org:a'], counts: money}]\n", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = io.WriteString(w, c.answer)
		}))
		path := map[string]string{"openai-chat": fakemodel.ChatPath, "openai-responses": fakemodel.ResponsesPath, "anthropic-messages": fakemodel.MessagesPath}[c.api]
		a, err := r.ask(path, `{"model":"cheap","stream":true,"max_tokens":50,"max_output_tokens":50}`)
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s %v", name, a.StatusCode, a.Body, err)
		}
		x := r.exchange(a.Header).Exchange
		if x.Holds[0].Charged != c.want || (x.Answered == "dear") != (c.want == 3000) {
			t.Errorf("%s: %d are charged, want %d: %+v", name, x.Holds[0].Charged, c.want, x)
		}
	}
}

// TestExchangesPushNoDenialsOut: there are many more exchanges than denials, and each ring keeps its newest ones.
func TestExchangesPushNoDenialsOut(t *testing.T) {
	r := newModelRig(t, chat("small"), answering(usage8))
	passed, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":5}`)
	if err != nil || passed.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", passed.StatusCode, passed.Body, err)
	}
	refused, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil || refused.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("%d %s %v", refused.StatusCode, refused.Body, err)
	}
	exchange, refusal := passed.Header.Get("X-Jeton-Exchange"), refused.Header.Get("X-Request-Id")
	if _, err := r.gateway.Denials().Recall(exchange); !errors.Is(err, denial.ErrForgotten) {
		t.Errorf("the exchange %s is among the denials: %v", exchange, err)
	}
	if _, err := r.gateway.Denials().Recall(refusal); err != nil {
		t.Errorf("the denial %s: %v", refusal, err)
	}
	for _, id := range []string{exchange, refusal} {
		if record, err := r.gateway.Recall(id); err != nil || record.ID != id {
			t.Errorf("%s: %+v %v", id, record, err)
		}
	}
}

// TestHeadersOfDialect tells clients of their limits in the dialect, in place of the upstream's.
func TestHeadersOfDialect(t *testing.T) {
	model := fake(fakemodel.NoFault)
	r := newModelRig(t, strings.Replace(chat("tokens"), "checks:\n", "checks:\n  - {limits: [requests], key: ['org:a']}\n", 1), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("X-Ratelimit-Limit-Tokens", "1")
		w.Header().Set("X-Ratelimit-Remaining-Requests", "1")
		if strings.HasSuffix(q.URL.RawQuery, "id") {
			w.Header().Set("X-Request-Id", "of-the-model")
		}
		model.ServeHTTP(w, q)
	}))
	for query, id := range map[string]string{"": "", "?id": "of-the-model"} {
		a, err := r.ask(fakemodel.ChatPath+query, "{"+hello+`,"max_tokens":40}`)
		if err != nil {
			t.Fatal(err)
		}
		h, own := a.Header, a.Header.Get("X-Jeton-Exchange")
		if id == "" {
			id = own
		}
		if got := h["X-Request-Id"]; own == "" || len(got) != 1 || got[0] != id {
			t.Errorf("the ids are %q and %q", got, own)
		}
		if got := h["X-Ratelimit-Limit-Tokens"]; len(got) != 1 || got[0] != "10000" || h.Get("X-Ratelimit-Limit-Requests") != "10000" || len(h["X-Ratelimit-Remaining-Requests"]) != 1 ||
			h.Get("X-Ratelimit-Remaining-Requests") == "1" || h.Get("X-Ratelimit-Reset-Tokens") == "" || h.Get("Ratelimit") != "" {
			t.Errorf("the headers are %v", h)
		}
		r.exchange(h)
	}
	if _, h := r.lastAsked(); h.Get("Accept-Encoding") != "identity" {
		t.Errorf("the model is asked for %q", h.Get("Accept-Encoding"))
	}
}

// TestClientLeavesAStream leaves a stream in its middle: the model's request ends, and what was seen is charged.
func TestClientLeavesAStream(t *testing.T) {
	gone := make(chan struct{})
	r := newModelRig(t, chat("tokens"), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 { // each with many tokens
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`+strings.Repeat("word ", 20)+`"}}]}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		<-q.Context().Done()
		close(gone)
	}))
	ctx, leave := context.WithCancel(t.Context())
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address+fakemodel.ChatPath, strings.NewReader("{"+hello+`,"stream":true,"max_tokens":500}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	for s, seen := linesOf(a.Body), 0; seen < 3 && s.Scan(); {
		if s.Text() != "" {
			seen++
		}
	}
	if _, held := r.spent("tokens"); held <= 500 {
		t.Errorf("%d are held meanwhile", held)
	}
	leave()
	_ = a.Body.Close()
	<-gone
	x := r.exchange(a.Header).Exchange
	const output = int64(3*20*len("word ")) / 4
	if x.Basis != "events" || x.Used.Output != output || x.Used.Input != x.Input {
		t.Errorf("charged by %s: %+v, want an output of %d", x.Basis, x.Used, output)
	}
	r.wantSpent("tokens", x.Input+output)
}

// TestClientLeavesBeforeTheAnswer pays the estimate: the model may have worked for it.
func TestClientLeavesBeforeTheAnswer(t *testing.T) {
	arrived := make(chan struct{})
	r := newModelRig(t, chat("tokens"), http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		close(arrived)
		<-q.Context().Done()
	}))
	ctx, leave := context.WithCancel(t.Context())
	body := "{" + hello + `,"max_tokens":500}`
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address+fakemodel.ChatPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-arrived
		leave()
	}()
	a, err := r.client().Do(q)
	if err == nil {
		_ = a.Body.Close()
		t.Fatalf("%d", a.StatusCode)
	}
	r.wantSpent("tokens", int64(len(body)+3)/4+500)
}

// TestUpstreamUnreachable costs nothing.
func TestUpstreamUnreachable(t *testing.T) {
	r := newModelRig(t, strings.Replace(chat("tokens"), "path: /", "path: /v1/chat", 1), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil || a.StatusCode != http.StatusBadGateway || !strings.Contains(string(a.Body), `"type":"server_error"`) {
		t.Errorf("%d %s %v", a.StatusCode, a.Body, err)
	}
	if x := r.exchange(a.Header); x.Status != http.StatusBadGateway || x.Exchange.Basis != "none" {
		t.Errorf("%+v", x)
	}
	r.wantSpent("tokens", 0)
}

// TestSettlementIsRepeated lets the first settlements fail, and the answers of others be lost: all is charged once.
func TestSettlementIsRepeated(t *testing.T) {
	r := newModelRig(t, chat("tokens"), fake(fakemodel.NoFault))
	var tries atomic.Int64
	fail := func(s limit.Settlement) error {
		switch tries.Add(1) {
		case 1:
			return limit.ErrUnavailable
		case 2:
			if _, err := r.system.Settle(t.Context(), s); err != nil {
				t.Error(err)
			}
			return context.DeadlineExceeded
		}
		return nil
	}
	r.checker.settle.Store(&fail)
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil {
		t.Fatal(err)
	}
	r.exchange(a.Header)
	r.wantSpent("tokens", usageOf(t, a.Body))
	if tries.Load() != 3 {
		t.Errorf("%d tries", tries.Load())
	}
}

// TestHoldIsLost settles a hold that no limit knows any more: that is counted, logged and shown.
func TestHoldIsLost(t *testing.T) {
	r := newModelRig(t, chat("tokens"), fake(fakemodel.NoFault))
	lost := func(limit.Settlement) error { return fmt.Errorf("node: %w", limit.ErrUnknownHold) }
	r.checker.settle.Store(&lost)
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil {
		t.Fatal(err)
	}
	x := r.exchange(a.Header).Exchange
	if h := x.Holds[0]; h.State != "unknown" || !strings.Contains(h.Why, "unknown hold") {
		t.Errorf("%+v", h)
	}
	r.wantCount(1, "jeton_gateway_llm_settlements_total", "outcome", "unknown")
	if !strings.Contains(r.logs.String(), "a hold was not settled as it was used") {
		t.Errorf("the log is %s", r.logs)
	}
}

// TestCloseWaitsForSettlements stops a gateway while a settlement is tried again.
func TestCloseWaitsForSettlements(t *testing.T) {
	r := newModelRig(t, chat("tokens"), fake(fakemodel.NoFault))
	tried, stopping := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fail := func(limit.Settlement) error {
		once.Do(func() { close(tried) })
		select {
		case <-stopping:
			return nil
		default:
			return limit.ErrUnavailable
		}
	}
	r.checker.settle.Store(&fail)
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil {
		t.Fatal(err)
	}
	<-tried
	close(stopping)
	r.gateway.Close()
	if charged, held := r.spent("tokens"); held != 0 || charged != usageOf(t, a.Body) {
		t.Errorf("%d are charged and %d held", charged, held)
	}
}

// TestLimitsWithoutHolds are refused by the policy of the limit, and not let through in silence.
func TestLimitsWithoutHolds(t *testing.T) {
	for name, want := range map[string]string{"plain": "takes no holds", "short": "longer than limit"} {
		r := newModelRig(t, chat(name), fake(fakemodel.NoFault))
		a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
		if err != nil || a.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("%s: %d %s %v", name, a.StatusCode, a.Body, err)
		}
		record, err := r.gateway.Recall(a.Header.Get("X-Request-Id"))
		if err != nil || !strings.Contains(record.Why, want) || !strings.Contains(r.logs.String(), want) {
			t.Errorf("%s: %+v %v", name, record, err)
		}
	}
}

// TestStreamsAreCounted opens as many streams as a limit has permits, for longer than a permit lasts, and another one after an end.
func TestStreamsAreCounted(t *testing.T) {
	end := make(chan struct{})
	r := newModelRig(t, `
routes:
- name: chat
  path: /
  llm: {api: openai-chat, hold: 1s}
  checks:
  - {limits: [streams], key: ['org:a'], counts: streams}
  - {limits: [tokens], key: ['org:a'], counts: tokens}
`, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-end
	}))
	open := func() (a *http.Response) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address+fakemodel.ChatPath, strings.NewReader("{"+hello+`,"stream":true,"max_tokens":50}`))
		if err != nil {
			t.Fatal(err)
		}
		if a, err = r.client().Do(q); err != nil {
			t.Fatal(err)
		}
		return a
	}
	first, second, third := open(), open(), open() //nolint:bodyclose // below
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusOK || third.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("%d %d %d", first.StatusCode, second.StatusCode, third.StatusCode)
	}
	_ = third.Body.Close()
	// A lease lasts for 2 s and a hold for 1 s: twelve extensions of two streams take more than two leases, where the clock does not stand still.
	for r.count("jeton_gateway_llm_extensions_total", "outcome", "done") < 12 {
		r.now() // its clock goes on as long as it is looked at
		if bad := r.count("jeton_gateway_llm_extensions_total", "outcome", "unknown"); bad > 0 {
			t.Fatalf("%v extensions came too late", bad)
		}
	}
	third = open()
	if third.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a third stream: %d", third.StatusCode)
	}
	_ = third.Body.Close()
	close(end)
	for _, a := range []*http.Response{first, second} {
		_, _ = io.Copy(io.Discard, a.Body)
		_ = a.Body.Close()
		x := r.exchange(a.Header).Exchange
		if x.Holds[0].State != "settled" || x.Used.Output != 1 {
			t.Errorf("%+v", x)
		}
	}
	r.wantSpent("streams", 0)
	charged, held := r.spent("tokens")
	if used := 2 * ((int64(len(hello)) + 35 + 3) / 4); held != 0 || charged < 2 || charged > used+4 {
		t.Errorf("%d are charged and %d held", charged, held)
	}
	r.wantCount(2, "jeton_gateway_llm_permits_returned_total", "outcome", "done")
}

// TestNoDecision lets requests pass by the policy while the cluster does not decide: nothing is held, and nothing is settled.
func TestNoDecision(t *testing.T) {
	r := newModelRig(t, chat("tokens"), fake(fakemodel.NoFault))
	down := func(limit.Request) error { return errors.Join(limit.ErrUnavailable) }
	r.checker.check.Store(&down)
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", a.StatusCode, a.Body, err)
	}
	if x := r.exchange(a.Header); x.Exchange.Basis != "usage" || len(x.Exchange.Holds) != 0 || x.Source != "allow" || x.Undecided != "limit tokens: no decision available" {
		t.Errorf("%+v", x)
	}
}

// TestNoDecisionOfSomeChecks names the limits that have not decided, where a later one has.
func TestNoDecisionOfSomeChecks(t *testing.T) {
	route := strings.Replace(chat("tokens"), "counts: tokens}", "counts: tokens}\n  - {limits: [month], key: ['org:a'], counts: tokens}\n  - {limits: [few], key: ['org:a']}", 1)
	r := newModelRig(t, route, fake(fakemodel.NoFault))
	down := func(q limit.Request) error {
		if q.Limits[0].Name == "few" {
			return nil
		}
		return fmt.Errorf("%w: not here: %q", limit.ErrUnavailable, q.Limits[0].Name)
	}
	r.checker.check.Store(&down)
	const want = `limits tokens, month: no decision available: not here: "tokens"`
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", a.StatusCode, a.Body, err)
	}
	if x := r.exchange(a.Header); x.Reason != "fail_open" || x.Source != "cluster" || x.Undecided != want || x.Why != "" {
		t.Errorf("%+v", x)
	}
	a, err = r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":500}`)
	if err != nil || a.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("%d %s %v", a.StatusCode, a.Body, err)
	}
	if x, err := r.gateway.Recall(a.Header.Get("X-Request-Id")); err != nil || x.Undecided != want || x.Why != "" {
		t.Errorf("%+v %v", x, err)
	}
}

// TestStreamThroughTheGateway shows the client the usage event that it has asked for.
func TestStreamThroughTheGateway(t *testing.T) {
	r := newModelRig(t, chat("tokens"), fake(fakemodel.NoFault))
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":50,"stream":true,"stream_options":{"include_usage":true}}`)
	if err != nil || !strings.Contains(string(a.Body), "prompt_tokens") || !strings.Contains(string(a.Body), "[DONE]") {
		t.Errorf("%s %v", a.Body, err)
	}
}

// TestGetOfAModel forwards a GET without a body, such as one that lists what was answered: it is no request to the model, and asks no
// limit of tokens.
func TestGetOfAModel(t *testing.T) {
	r := newModelRig(t, chat("tokens"), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(map[string]int{http.MethodGet: http.StatusOK}[q.Method])
	}))
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.address+fakemodel.ChatPath, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.client().Do(q)
	if err != nil || got.StatusCode != http.StatusOK || got.Header.Get("X-Jeton-Exchange") != "" {
		t.Errorf("%v %v", got, err)
	}
	_ = got.Body.Close()
	r.wantSpent("tokens", 0)
}

// TestUnreadUsage says why an answer costs its estimate.
func TestUnreadUsage(t *testing.T) {
	r := newModelRig(t, chat("tokens"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "x-rare")
		_, _ = io.WriteString(w, "???")
	}))
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"max_tokens":50}`)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", a.StatusCode, a.Body, err)
	}
	if x := r.exchange(a.Header).Exchange; x.Basis != "estimate" || x.Unread != "its Content-Encoding cannot be read" {
		t.Errorf("%+v", x)
	}
}

// TestOnlyTheProxyReadsModels refuses requests of such a route at other handlers.
func TestOnlyTheProxyReadsModels(t *testing.T) {
	r := newModelRig(t, chat("tokens"), fake(fakemodel.NoFault))
	a := (&rig{T: t, gateway: r.gateway}).ask(request(t, http.MethodPost, fakemodel.ChatPath))
	if a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "only the proxy") {
		t.Errorf("%d %s", a.StatusCode, a.Body)
	}
}
