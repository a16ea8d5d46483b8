package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// A sample is the API behind the gateway of dev, within the process of dev.
type sample struct {
	listener net.Listener
	server   *http.Server
	running  sync.WaitGroup // the goroutine that serves
	failure  error          // after running
}

// sampleNote says in every answer what it is from.
const sampleNote = "this is the sample API of jeton dev: it keeps nothing, and every request that reaches it has passed the gateway"

// sampleHeaderWithin is how long a header may take.
const sampleHeaderWithin = 5 * time.Second

// How many words the sample's language model answers, and how long it takes for each: slow enough for people to see that tokens are held
// meanwhile.
const (
	sampleWords = 60
	samplePace  = 100 * time.Millisecond
)

// startSample serves on any port of loopback that is free.
func startSample() (*sample, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the sample API: %w", err)
	}
	s := &sample{listener: l, server: &http.Server{Handler: sampleHandler(), ReadHeaderTimeout: sampleHeaderWithin}}
	s.running.Go(func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failure = fmt.Errorf("the sample API: %w", err)
		}
	})
	return s, nil
}

// url is where it is.
func (s *sample) url() string { return "http://" + s.listener.Addr().String() }

// stop ends it at once: its gateway has ended before.
func (s *sample) stop() error {
	err := s.server.Close()
	s.running.Wait()
	return errors.Join(err, s.failure)
}

// sampleHandler answers JSON for every path, and where language models do, as one of them.
func sampleHandler() http.Handler {
	type item struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	type answer struct {
		Note   string `json:"note"`
		Method string `json:"method,omitempty"`
		Path   string `json:"path,omitempty"`
		Items  []item `json:"items,omitempty"`
	}
	reply := func(w http.ResponseWriter, status int, a answer) {
		a.Note = sampleNote
		w.Header().Set("Content-Type", "application/json")
		text, err := json.Marshal(a)
		if err != nil {
			status, text = http.StatusInternalServerError, []byte("{}")
		}
		w.WriteHeader(status)
		_, _ = w.Write(append(text, '\n')) // the gateway has disconnected: the answer is lost
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/items", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, answer{Items: []item{{1, "abacus"}, {2, "counting board"}, {3, "jeton"}}})
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusUnauthorized, answer{Method: r.Method, Path: r.URL.Path}) // the sample has no users
	})
	model := fakemodel.New(fakemodel.Config{Words: sampleWords, Delay: samplePace})
	for _, path := range []string{fakemodel.ChatPath, fakemodel.ResponsesPath, fakemodel.MessagesPath} {
		mux.Handle("POST "+path, model)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, answer{Method: r.Method, Path: r.URL.Path})
	})
	return mux
}
