package fakemodel_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask asks a model without a network.
func ask(t *testing.T, cfg fakemodel.Config, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	fakemodel.New(cfg).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	return w
}

// TestSameAnswer asks twice, and then something else.
func TestSameAnswer(t *testing.T) {
	for _, path := range []string{fakemodel.ChatPath, fakemodel.ResponsesPath, fakemodel.MessagesPath} {
		for _, stream := range []string{"false", "true"} {
			first := ask(t, fakemodel.Config{}, path, `{"input":"a","messages":"a","stream":`+stream+`}`).Body.String()
			again := ask(t, fakemodel.Config{}, path, `{"input":"a","messages":"a","stream":`+stream+`}`).Body.String()
			other := ask(t, fakemodel.Config{}, path, `{"input":"b","messages":"b","stream":`+stream+`}`).Body.String()
			if first != again || first == other {
				t.Errorf("%s: got %s, again %s, and to another prompt %s", path, first, again, other)
			}
		}
	}
}

// TestEvents looks for the events that each API has.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		path, body string
		want       map[string]int
	}{
		{fakemodel.ChatPath, `{"stream":true,"max_tokens":3}`, map[string]int{`"content":"`: 4, "[DONE]": 1, `"usage"`: 0, `"finish_reason":"length"`: 1}},
		{fakemodel.ChatPath, `{"stream":true,"n":2,"max_completion_tokens":3,"stream_options":{"include_usage":true}}`, map[string]int{
			`"content":"`: 8, "[DONE]": 1, `"usage":null`: 10, `"completion_tokens":6`: 1,
		}},
		{fakemodel.ResponsesPath, `{"stream":true,"max_output_tokens":3}`, map[string]int{
			"event: response.output_text.delta\n": 3, "event: response.incomplete\n": 1, "event: response.created\n": 1, `"output_tokens":3`: 1,
		}},
		{fakemodel.ResponsesPath, `{"stream":true}`, map[string]int{"event: response.output_text.delta\n": 16, "event: response.completed\n": 1}},
		{fakemodel.MessagesPath, `{"stream":true,"max_tokens":3}`, map[string]int{
			"event: message_start\n": 1, "event: content_block_delta\n": 3, "event: message_delta\n": 1, "event: message_stop\n": 1, `"output_tokens":3`: 1,
		}},
		{fakemodel.MessagesPath, `{"max_tokens":0}`, map[string]int{`"text":""`: 1, `"output_tokens":0`: 1}},
	} {
		w := ask(t, fakemodel.Config{}, c.path, c.body)
		for text, want := range c.want {
			if got := strings.Count(w.Body.String(), text); got != want {
				t.Errorf("%s %s: %d times %q, want %d:\n%s", c.path, c.body, got, text, want, w.Body)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	if w := ask(t, fakemodel.Config{}, fakemodel.ChatPath, `{`); w.Code != http.StatusBadRequest {
		t.Errorf("half a request: %d", w.Code)
	}
	if w := ask(t, fakemodel.Config{}, "/v1/embeddings", `{}`); w.Code != http.StatusNotFound {
		t.Errorf("another API: %d", w.Code)
	}
	if w := ask(t, fakemodel.Config{Fault: fakemodel.ErrorStatus}, fakemodel.ChatPath, `{}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a model that fails: %d", w.Code)
	}
}

// TestDelay waits before each event: a role, two words, a reason, no usage.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ask(t, fakemodel.Config{Words: 2, Delay: time.Second}, fakemodel.ChatPath, `{"stream":true}`)
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("it took %v", took)
		}
		start = time.Now()
		ask(t, fakemodel.Config{Delay: time.Second}, fakemodel.MessagesPath, `{}`)
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
