package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// answering is a model that answers anything in the same way, whatever the method and the path.
func answering(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
}

const usage8 = `{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`

// TestBodyMakesARequestToTheModel: a service may read the body of a GET, so that it counts as one of a POST does.
func TestBodyMakesARequestToTheModel(t *testing.T) {
	r := newModelRig(t, chat("tokens"), answering(usage8))
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodOptions} {
		for _, sized := range []bool{true, false} {
			before, _ := r.spent("tokens")
			var body io.Reader = strings.NewReader("{" + hello + `,"max_tokens":50}`)
			if !sized {
				body = io.MultiReader(body)
			}
			q, err := http.NewRequestWithContext(t.Context(), method, r.address+fakemodel.ChatPath, body)
			if err != nil {
				t.Fatal(err)
			}
			a, err := r.client().Do(q)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, a.Body)
			_ = a.Body.Close()
			if a.Header.Get("X-Jeton-Exchange") == "" {
				t.Errorf("%s, length known: %v: the model has answered %d, and nothing is counted", method, sized, a.StatusCode)
				continue
			}
			r.exchange(a.Header)
			r.wantSpent("tokens", before+8)
		}
	}
}

// TestNoTunnelToAModel: an upgrade would be a connection for any number of requests, of which the gateway reads none.
func TestNoTunnelToAModel(t *testing.T) {
	upgraded := make(chan string, 1)
	r := newModelRig(t, chat("tokens"), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		upgraded <- q.Header.Get("Upgrade")
		w.WriteHeader(http.StatusUpgradeRequired)
	}))
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.address+"/v1/responses", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Connection", "Upgrade")
	q.Header.Set("Upgrade", "websocket")
	a, err := r.client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if got := <-upgraded; got != "" {
		t.Errorf("the model was asked for an upgrade to %s", got)
	}
}

// TestModelReadsWhatWasRead: headers by which a service would read another body, or answer with a part, do not reach it.
func TestModelReadsWhatWasRead(t *testing.T) {
	r := newModelRig(t, chat("tokens"), answering(usage8))
	send := func(header http.Header) int {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address+fakemodel.ChatPath, strings.NewReader("{"+hello+`,"max_tokens":50}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = header
		a, err := r.client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		return a.StatusCode
	}
	for _, encodings := range [][]string{{"identity", "deflate"}, {"", "gzip"}, {"identity, gzip"}, {"Deflate"}} {
		if status := send(http.Header{"Content-Encoding": encodings}); status != http.StatusBadRequest {
			t.Errorf("Content-Encoding %q: %d", encodings, status)
		}
	}
	for _, kind := range []string{"application/json; charset=utf-7", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-7; x", ""} {
		if status := send(http.Header{"Content-Type": {kind, kind}}); status != http.StatusOK {
			t.Errorf("Content-Type %q: %d", kind, status)
		}
		if _, h := r.lastAsked(); len(h["Content-Type"]) != 1 || h.Get("Content-Type") != "application/json" {
			t.Errorf("Content-Type %q: the model got %q", kind, h["Content-Type"])
		}
	}
	partial := []string{"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "X-Jeton-Exchange"}
	h := http.Header{}
	for _, name := range partial {
		h.Set(name, "bytes=0-0")
	}
	if status := send(h); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	_, got := r.lastAsked()
	for _, name := range partial {
		if got.Get(name) != "" {
			t.Errorf("the model got %s", name)
		}
	}
}

// TestTimeoutsCost their estimate: the model may have worked until then, and the client can bring them about.
func TestTimeoutsCost(t *testing.T) {
	r := newModelRig(t, chat("tokens"), http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }))
	body := "{" + hello + `,"max_tokens":500}`
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address+fakemodel.ChatPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Connect-Timeout-Ms", "2000") // enough to be sent
	a, err := r.client().Do(q)
	if err != nil || a.StatusCode != http.StatusGatewayTimeout {
		t.Fatalf("%v %v", a, err)
	}
	_ = a.Body.Close()
	if x := r.exchange(a.Header); x.Status != http.StatusGatewayTimeout || x.Exchange.Basis != "estimate" {
		t.Errorf("%+v", x)
	}
	r.wantSpent("tokens", int64(len(body)+3)/4+500)
}

// TestLongAnswers with log probabilities are far longer than what is kept to read them.
func TestLongAnswers(t *testing.T) {
	pad := `{"choices":[{"logprobs":"` + strings.Repeat("x", 9<<20) + `"}],"usage":{"prompt_tokens":3,"completion_tokens":9000,"total_tokens":9003}}`
	r := newModelRig(t, chat("tokens"), answering(pad))
	a, err := r.ask(fakemodel.ChatPath, "{"+hello+`,"logprobs":true}`)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", a.StatusCode, err)
	}
	if x := r.exchange(a.Header).Exchange; x.Basis != "usage" || x.Used.Output != 9000 {
		t.Errorf("%+v %+v", x, x.Used)
	}
}

// TestOtherPaths: what stands below the path of a model may be another API, such as one of batches, whose answers do not tell what they use.
func TestOtherPaths(t *testing.T) {
	for route, asked := range map[string]map[string]int{
		"anthropic-messages /v1/messages": {
			"/v1/messages": http.StatusOK, "/v1/messages/": http.StatusOK, "/v1/messages?beta=true": http.StatusOK, "/v1/messages/batches": http.StatusNotFound, "/v1/messages/batches/": http.StatusNotFound, "/v1/messages/count_tokens": http.StatusNotFound,
		},
		"openai-chat /": {
			"/v1/chat/completions": http.StatusOK, "/openai/deployments/x/chat/completions": http.StatusOK, "/v1/responses": http.StatusNotFound, "/v1/completions": http.StatusNotFound, "/v1/batches": http.StatusNotFound,
		},
		"openai-chat /serving/{name}/invocations": {"/serving/x/invocations": http.StatusOK, "/serving/x/invocations/y": http.StatusNotFound},
		"openai-responses /v1/responses$":         {"/v1/responses": http.StatusOK},
		"openai-responses /v1/responses": {
			"/v1/responses": http.StatusOK, "/v1/responses/resp_1/cancel": http.StatusNotFound, "/v1/responses/input_tokens": http.StatusNotFound,
		},
	} {
		api, path, _ := strings.Cut(route, " ")
		r := newModelRig(t, strings.Replace(strings.Replace(chat("tokens"), "openai-chat", api, 1), "path: /", "path: '"+path+"'", 1), answering(usage8))
		for path, want := range asked {
			a, err := r.ask(path, "{"+hello+`,"max_tokens":50}`)
			if err != nil || a.StatusCode != want || want == http.StatusNotFound && !strings.Contains(string(a.Body), "needs a route of its own") {
				t.Errorf("%s: %s: %d %s %v", route, path, a.StatusCode, a.Body, err)
			}
		}
	}
}

// TestBackground refuses answers that are made after the response, where what they use counts: the response tells no usage.
func TestBackground(t *testing.T) {
	tokens := strings.Replace(chat("tokens"), "openai-chat", "openai-responses", 1)
	for route, refuses := range map[string]bool{
		tokens: true, strings.Replace(tokens, "[tokens], key: ['org:a'], counts: tokens", "[streams], key: ['org:a'], counts: streams", 1): true,
		strings.Replace(countedOnly, "openai-chat", "openai-responses", 1): false,
	} {
		r := newModelRig(t, route, answering(`{"status":"queued","usage":null}`))
		for field, status := range map[string]int{
			`"background":true`: http.StatusBadRequest, `"background":false`: http.StatusOK, `"background":null`: http.StatusOK, `"a":{"background":true}`: http.StatusOK,
			`"background":false,"background":true`: http.StatusBadRequest, `"Background":true`: http.StatusBadRequest, `"background":1`: http.StatusBadRequest,
		} {
			if !refuses && field == `"background":true` {
				status = http.StatusOK
			}
			a, err := r.ask(fakemodel.ResponsesPath, `{"max_output_tokens":50,`+field+`}`)
			if err != nil || a.StatusCode != status || status == http.StatusBadRequest && !strings.Contains(string(a.Body), `"param":"background"`) {
				t.Errorf("%s: %d %s %v", field, a.StatusCode, a.Body, err)
			}
		}
	}
}

// TestRouteOfItsOwn: what stands below the path of a model passes by a route of its own, as any other request does.
func TestRouteOfItsOwn(t *testing.T) {
	r := newModelRig(t, strings.Replace(chat("tokens"), "openai-chat", "anthropic-messages", 1)+"- {name: count, path: /v1/messages/count_tokens, checks: [{limits: [requests], key: ['org:a']}]}\n", answering(`{"input_tokens":7}`))
	a, err := r.ask("/v1/messages/count_tokens", "{"+hello+"}")
	if err != nil || a.StatusCode != http.StatusOK || a.Header.Get("X-Jeton-Exchange") != "" {
		t.Errorf("%d %v %s %v", a.StatusCode, a.Header, a.Body, err)
	}
	r.wantSpent("requests", 1)
	r.wantSpent("tokens", 0)
}
