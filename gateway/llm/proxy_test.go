package llm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/llm"
	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// A result is what a proxy knows of a request when its answer has ended.
type result struct {
	request *llm.Request
	added   bool
	answer  llm.Answer
}

func (r result) charge() llm.Charge { return r.answer.Charge(r.request.Estimate(1000)) }

// proxy is a reverse proxy in front of a model, as a gateway would be; results get what it knows.
func proxy(t *testing.T, model http.Handler) (address string, results <-chan result) {
	t.Helper()
	upstream := httptest.NewUnstartedServer(model)
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0)
	upstream.Start()
	t.Cleanup(upstream.Close)
	to, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan result, 10)
	formats := map[string]*llm.Format{
		fakemodel.ChatPath: format(t, llm.OpenAIChat), fakemodel.ResponsesPath: format(t, llm.OpenAIResponses), fakemodel.MessagesPath: format(t, llm.AnthropicMessages),
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var known result
		body, err := llm.ReadBody(r.Body, 1<<20, nil)
		if err == nil {
			known.request, err = formats[r.URL.Path].ReadRequest(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		known.added = known.request.AskForUsage()
		body = bodyOf(known.request)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		watch := llm.Watch{Format: formats[r.URL.Path], RemoveUsage: known.added, Report: func(a llm.Answer) {
			known.answer = a
			ended <- known
		}}
		reverse := httputil.ReverseProxy{
			Rewrite: func(p *httputil.ProxyRequest) {
				p.SetURL(to)
				llm.RequestIdentity(p.Out.Header)
			},
			FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
			ModifyResponse: func(r *http.Response) error {
				watch.Wrap(r)
				return nil
			},
		}
		reverse.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = upstream.Config.ErrorLog
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, ended
}

// ask asks a model, and reads the answer to its end.
func ask(t *testing.T, address, body string) (h http.Header, text string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	r, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	return r.Header, string(all), err
}

const prompt = `"messages":[{"role":"user","content":"hello hello hello"}],"input":"hello hello hello"`

// told is the usage in the answer of a model that is asked directly.
func told(t *testing.T, path string) llm.Usage {
	t.Helper()
	model := httptest.NewServer(fakemodel.New(fakemodel.Config{}))
	defer model.Close()
	_, text, err := ask(t, model.URL+path, "{"+prompt+"}")
	var answer struct {
		Usage map[string]any `json:"usage"`
	}
	if err != nil || json.Unmarshal([]byte(text), &answer) != nil {
		t.Fatal(text, err)
	}
	number := func(name string) int64 {
		n, _ := answer.Usage[name].(float64)
		return int64(n)
	}
	details := func(name string) int64 {
		d, _ := answer.Usage[name].(map[string]any)
		n, _ := d["cached_tokens"].(float64)
		return int64(n)
	}
	u := llm.Usage{Input: number("prompt_tokens") + number("input_tokens") + number("cache_read_input_tokens"), Output: number("completion_tokens") + number("output_tokens")}
	u.Cached = details("prompt_tokens_details") + details("input_tokens_details") + number("cache_read_input_tokens")
	return u
}

// TestFaults asks a model through a proxy, as a stream and not, and breaks it in every way.
func TestFaults(t *testing.T) {
	const words = 16
	for _, path := range []string{fakemodel.ChatPath, fakemodel.ResponsesPath, fakemodel.MessagesPath} {
		usage := told(t, path)
		if usage.Output != words || usage.Input == 0 || usage.Cached == 0 {
			t.Fatalf("%s: the model tells %+v", path, usage)
		}
		messages := path == fakemodel.MessagesPath // whose streams start with their input
		for _, stream := range []bool{false, true} {
			for fault, want := range map[fakemodel.Fault]struct {
				whole, stream llm.Basis
				output        int64 // of a stream
			}{
				fakemodel.NoFault:     {llm.ByUsage, llm.ByUsage, words},
				fakemodel.Break:       {llm.ByEstimate, llm.ByEvents, 11}, // a quarter of the letters of half of the words
				fakemodel.NoUsage:     {llm.ByEstimate, llm.ByEvents, 24},
				fakemodel.LyingUsage:  {llm.ByUsage, llm.ByUsage, 1},
				fakemodel.LongEvent:   {llm.ByUsage, llm.ByUsage, words},
				fakemodel.Gzip:        {llm.ByUsage, llm.ByUsage, words},
				fakemodel.ErrorStatus: {llm.ByNothing, llm.ByNothing, 0},
			} {
				address, results := proxy(t, fakemodel.New(fakemodel.Config{Fault: fault}))
				body := "{" + prompt + "}"
				if stream {
					body = "{" + prompt + `,"stream":true}`
				}
				header, text, err := ask(t, address+path, body)
				got := <-results
				charge := got.charge()
				basis := want.whole
				if stream {
					basis = want.stream
				}
				if charge.Basis != basis || got.answer.Complete != (fault != fakemodel.Break) || (err != nil) != (fault == fakemodel.Break) {
					t.Errorf("%s, stream is %v, fault %d: charged %+v by %v; the client read %d bytes with %v",
						path, stream, fault, charge.Usage, charge.Basis, len(text), err)
				}
				if stream && charge.Usage.Output != want.output {
					t.Errorf("%s, fault %d: charged %+v, want an output of %d", path, fault, charge.Usage, want.output)
				}
				if input := charge.Usage.Input; (charge.Basis == llm.ByUsage || charge.Basis == llm.ByEvents && messages && fault == fakemodel.Break) && input != usage.Input {
					t.Errorf("%s, stream is %v, fault %d: charged an input of %d, want %d", path, stream, fault, input, usage.Input)
				}
				if lies := fault == fakemodel.LyingUsage && stream; got.answer.Understated() != lies {
					t.Errorf("%s, stream is %v, fault %d: understated is %v: %+v", path, stream, fault, !lies, got.answer)
				}
				if fault == fakemodel.LongEvent && stream && len(text) < 10<<20 {
					t.Errorf("%s: %d bytes passed", path, len(text))
				}
				hidden := stream && path == fakemodel.ChatPath && fault != fakemodel.Gzip // what the client has not asked for
				if got.added != (stream && path == fakemodel.ChatPath) || hidden && strings.Contains(text, "prompt_tokens") {
					t.Errorf("%s, stream is %v, fault %d: added is %v; the client read %q", path, stream, fault, got.added, text)
				}
				if fault == fakemodel.Gzip {
					if z, err := gzip.NewReader(strings.NewReader(text)); header.Get("Content-Encoding") != "gzip" || err != nil || z.Close() != nil {
						t.Errorf("%s: the client's answer is no gzip: %v", path, err)
					}
				}
			}
		}
	}
}

// TestSilentModel leaves a model that says nothing.
func TestSilentModel(t *testing.T) {
	for _, path := range []string{fakemodel.ChatPath, fakemodel.MessagesPath} {
		address, results := proxy(t, fakemodel.New(fakemodel.Config{Fault: fakemodel.Silent}))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path, strings.NewReader("{"+prompt+`,"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{}
		r, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		transport.CloseIdleConnections()
		got := <-results
		if charge := got.charge(); charge.Basis != llm.ByEstimate || charge.Usage != got.request.Estimate(1000) {
			t.Errorf("%s: charged %+v by %v for %+v", path, charge.Usage, charge.Basis, got.answer)
		}
	}
}

// TestClientThatAskedForUsage gets the usage event.
func TestClientThatAskedForUsage(t *testing.T) {
	address, results := proxy(t, fakemodel.New(fakemodel.Config{}))
	_, text, err := ask(t, address+fakemodel.ChatPath, "{"+prompt+`,"stream":true,"stream_options":{"include_usage":true}}`)
	if got := <-results; err != nil || got.added || !strings.Contains(text, `"prompt_tokens":`) || got.charge().Basis != llm.ByUsage {
		t.Errorf("added is %v, charged %+v; the client read %q, %v", got.added, got.charge(), text, err)
	}
}
