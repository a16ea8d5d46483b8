package identity_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// A site is an issuer's, as an http.RoundTripper.
type site struct {
	answer func(n int) (status int, body io.Reader, err error) // of the nth request, counted from 1
	asked  atomic.Int64
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	n := int(s.asked.Add(1))
	status, body, err := s.answer(n)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Header: http.Header{}, Request: r,
		Body: io.NopCloser(io.MultiReader(body, late{r})),
	}, nil
}

// late is the end of a body, which a request that has been given up does not wait for.
type late struct{ request *http.Request }

func (l late) Read([]byte) (int, error) {
	if err := l.request.Context().Err(); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// answering makes a Finder that reads its keys from a site, every 10 minutes.
func answering(t *testing.T, s *site, logs io.Writer) *identity.Finder {
	t.Helper()
	return open(t, identity.Config{
		Identity: config.Identity{JWT: []config.JWT{{
			JWKSURL: "https://issuer.example/keys", Algorithms: []string{"ES256"}, Issuer: "https://issuer.example",
		}}},
		Client: &http.Client{Transport: s}, Logger: newLogger(logs),
		Now: func() time.Time { return time.Unix(noon, 0) },
	})
}

// always answers with the same text.
func always(text []byte) func(int) (int, io.Reader, error) {
	return func(int) (int, io.Reader, error) { return http.StatusOK, bytes.NewReader(text), nil }
}

// later lets time pass, and everything happen that is due then.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestKeysAreReadAtOnceAndWhenOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, young := newSigner(t, "ES256", "old"), newSigner(t, "ES256", "young")
		s := &site{answer: func(n int) (int, io.Reader, error) {
			if n == 1 {
				return http.StatusOK, bytes.NewReader(set(t, old)), nil
			}
			return http.StatusOK, bytes.NewReader(set(t, young)), nil
		}}
		f := answering(t, s, io.Discard)
		mine := old.sign(t, good)
		if got := subOf(t, f, mine); got != "42" {
			t.Fatalf("right after New a token makes %q", got)
		}
		later(10*time.Minute - time.Second)
		if n := s.asked.Load(); n != 1 {
			t.Fatalf("the keys were read %d times before they were old", n)
		}
		later(time.Second)
		if got, remembered := subOf(t, f, young.sign(t, good)), subOf(t, f, mine); got != "42" || remembered != "" {
			t.Errorf("after a change of keys the new one makes %q, and a token of the old one, remembered, %q", got, remembered)
		}
	})
}

func TestUnknownKeysAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, young, forger := newSigner(t, "ES256", "old"), newSigner(t, "ES256", "young"), newSigner(t, "ES256", "forged")
		var rotated atomic.Bool
		s := &site{answer: func(int) (int, io.Reader, error) {
			if rotated.Load() {
				return http.StatusOK, bytes.NewReader(set(t, old, young)), nil
			}
			return http.StatusOK, bytes.NewReader(set(t, old)), nil
		}}
		f := answering(t, s, io.Discard)
		later(time.Minute)
		rotated.Store(true)
		token := young.sign(t, good)
		if got := subOf(t, f, token); got != "" {
			t.Fatalf("before the keys have been read again the token makes %q", got)
		}
		synctest.Wait()
		if got := subOf(t, f, token); got != "42" || s.asked.Load() != 2 {
			t.Fatalf("when the keys have been read again, %d times, the token makes %q", s.asked.Load(), got)
		}
		// A forger makes them be read every ten seconds, not more often.
		for range 100 {
			subOf(t, f, forger.sign(t, good))
			later(time.Second)
		}
		if n := s.asked.Load(); n < 11 || n > 13 {
			t.Errorf("in 100 s with forged tokens the keys were read %d times, want once every 10 s", n-2)
		}
	})
}

// Another document that says the same of an issuer goes on with its keys and its schedule: while the issuer cannot be reached, and
// however often documents change.
func TestAnotherFinderGoesOnWithTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newSigner(t, "ES256", "one")
		var gone atomic.Bool
		s := &site{answer: func(int) (int, io.Reader, error) {
			if gone.Load() {
				return 0, nil, errors.New("no route to host")
			}
			return http.StatusOK, bytes.NewReader(set(t, one)), nil
		}}
		next := func(before *identity.Finder, url string) *identity.Finder {
			f := open(t, identity.Config{
				Identity: config.Identity{JWT: []config.JWT{{JWKSURL: url, Algorithms: []string{"ES256"}, Issuer: "https://issuer.example"}}},
				Client:   &http.Client{Transport: s}, Now: func() time.Time { return time.Unix(noon, 0) }, Before: before,
			})
			if before != nil {
				before.Close()
			}
			return f
		}
		f := next(nil, "https://issuer.example/keys")
		gone.Store(true)
		begun := time.Now()
		for range 100 {
			f = next(f, "https://issuer.example/keys")
			if got := subOf(t, f, one.sign(t, good)); got != "42" {
				t.Fatalf("a token makes %q", got)
			}
			later(time.Second)
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("the keys were read %d times in %v, though they are not old", n, time.Since(begun))
		}
		later(10 * time.Minute)
		if n := s.asked.Load(); n < 2 {
			t.Error("the keys are old, and are not read again")
		}
		if got := subOf(t, f, one.sign(t, good)); got != "42" {
			t.Errorf("while the issuer cannot be reached, a token makes %q", got)
		}
		f = next(f, "https://issuer.example/other-keys")
		if got := subOf(t, f, one.sign(t, good)); got != "" {
			t.Errorf("with the keys of another URL a token makes %q", got)
		}
	})
}

// Tokens of others, or that nobody would believe with any key, are no reason to read keys.
func TestForeignTokensDoNotCauseReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, other := newSigner(t, "ES256", "mine"), newSigner(t, "ES256", "other")
		s := &site{answer: always(set(t, mine))}
		f := answering(t, s, io.Discard)
		later(time.Minute)
		for _, token := range []string{
			other.sign(t, good.with(claims{"iss": "https://other.example"})), other.sign(t, good.with(claims{"exp": noon - 100})),
			newSigner(t, "ES384", "x").sign(t, good), "x.y.z", mine.sign(t, good), signer{mine.algorithm, other.key, "mine"}.sign(t, good),
		} {
			subOf(t, f, token)
		}
		later(time.Minute)
		if n := s.asked.Load(); n != 1 {
			t.Errorf("the keys were read %d times, want once", n)
		}
	})
}

func TestKeysStayWhenTheURLFails(t *testing.T) {
	mine := newSigner(t, "ES256", "mine")
	failures := map[string]func() (int, io.Reader, error){
		"unreachable": func() (int, io.Reader, error) { return 0, nil, errors.New("connection refused") },
		"status": func() (int, io.Reader, error) {
			return http.StatusInternalServerError, bytes.NewReader(set(t, mine)), nil
		},
		"no JSON": func() (int, io.Reader, error) { return http.StatusOK, strings.NewReader("<html>"), nil },
		"no key":  func() (int, io.Reader, error) { return http.StatusOK, strings.NewReader(`{"keys":[]}`), nil },
		"only secrets": func() (int, io.Reader, error) {
			return http.StatusOK, strings.NewReader(`{"keys":[{"kty":"oct","k":"YWJj"}]}`), nil
		},
		"endless": func() (int, io.Reader, error) { return http.StatusOK, endless{}, nil },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logs journal
				s := &site{answer: func(n int) (int, io.Reader, error) {
					if n == 1 || n > 4 {
						return http.StatusOK, bytes.NewReader(set(t, mine)), nil
					}
					return fail()
				}}
				f := answering(t, s, &logs)
				later(10 * time.Minute)
				if got := subOf(t, f, mine.sign(t, good)); got != "42" || s.asked.Load() != 2 {
					t.Fatalf("after %d reads, the last of which failed, the token makes %q", s.asked.Load(), got)
				}
				if text := logs.String(); !strings.Contains(text, "https://issuer.example/keys") {
					t.Errorf("the log does not say what cannot be read: %s", text)
				}
				later(7 * time.Second) // again after 1, 2 and 4 s
				if n := s.asked.Load(); n != 5 {
					t.Errorf("7 s later the keys were read %d times, want 5", n)
				}
			})
		})
	}
}

// journal is a log that may be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// endless is a body that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// New does not wait for an issuer that does not answer, and Close does not either.
func TestSilentIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: nil}
		start := time.Now()
		f, err := identity.New(identity.Config{
			Identity: config.Identity{JWT: []config.JWT{{JWKSURL: "https://issuer.example/keys", Algorithms: []string{"ES256"}}}},
			Client:   &http.Client{Transport: silent{s}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("New waited %s, want 2s", waited)
		}
		if got := subOf(t, f, newSigner(t, "ES256", "").sign(t, good)); got != "" {
			t.Errorf("without keys a token makes %q", got)
		}
		later(4500 * time.Millisecond) // given up after 5 s, and asked again a second later
		if n := s.asked.Load(); n != 2 {
			t.Errorf("the issuer was asked %d times, want twice", n)
		}
		start = time.Now()
		f.Close()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("Close waited %s", waited)
		}
	})
}

// silent never answers.
type silent struct{ site *site }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.site.asked.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// With a real server and the Finder's own client: the keys rotate, and no connection is left behind.
func TestKeyRotationAtAServer(t *testing.T) {
	old, young := newSigner(t, "RS256", "old"), newSigner(t, "ES256", "young")
	var rotated atomic.Bool
	read := make(chan struct{}, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := set(t, old)
		if rotated.Load() {
			text = set(t, young)
		}
		fmt.Fprintf(w, "%s", text)
		read <- struct{}{}
	}))
	t.Cleanup(server.Close)
	f := believing(t, nil, config.JWT{
		JWKSURL: server.URL + "/keys", Algorithms: []string{"RS256", "ES256"}, RefreshEvery: config.Duration(time.Second),
	})
	token := old.sign(t, good)
	<-read
	for subOf(t, f, token) != "42" { // New has waited, unless the machine stalled
		<-read
	}
	rotated.Store(true)
	for subOf(t, f, young.sign(t, good)) != "42" {
		<-read
	}
	if got := subOf(t, f, token); got != "" {
		t.Errorf("a remembered token of a key that is gone makes %q", got)
	}
}

// Keys without a name, several of one name, and keys that serve something else.
func TestChoiceOfKeys(t *testing.T) {
	a, b, c := newSigner(t, "ES256", ""), newSigner(t, "ES256", ""), newSigner(t, "ES256", "c")
	named := func(s signer, kid string) signer { s.kid = kid; return s }
	for name, k := range map[string]struct {
		set   []byte
		token signer
		want  string
	}{
		"no names":                    {set(t, a, b), b, "42"},
		"a name that no key has":      {set(t, a, b), named(b, "b"), "42"},
		"no name in the token":        {set(t, a, c), named(c, ""), "42"},
		"a name that another has":     {set(t, a, c), named(c, "d"), ""},
		"two of one name":             {set(t, named(a, "x"), named(b, "x")), named(b, "x"), "42"},
		"for encryption":              {bytes.Replace(set(t, c, a), []byte(`"kid":"c"`), []byte(`"kid":"c","use":"enc"`), 1), c, ""},
		"for signatures":              {bytes.Replace(set(t, c), []byte(`"kid":"c"`), []byte(`"kid":"c","use":"sig"`), 1), c, "42"},
		"for signing in key_ops":      {bytes.Replace(set(t, c), []byte(`"kid":"c"`), []byte(`"kid":"c","key_ops":["verify"]`), 1), c, "42"},
		"for wrapping in key_ops":     {bytes.Replace(set(t, c, a), []byte(`"kid":"c"`), []byte(`"kid":"c","key_ops":["wrapKey"]`), 1), c, ""},
		"for another algorithm":       {bytes.Replace(set(t, c), []byte(`"kid":"c"`), []byte(`"kid":"c","alg":"ES256"`), 1), c, "42"},
		"beside what nobody knows":    {bytes.Replace(set(t, c), []byte(`"keys":[`), []byte(`"keys":[{"kty":"quantum"},`), 1), c, "42"},
		"too many keys without names": {set(t, a, a, a, a, a, a, a, a, b), b, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := believing(t, nil, config.JWT{JWKSFile: config.FileOf(k.set), Algorithms: []string{"ES256"}})
			if got := subOf(t, f, k.token.sign(t, good)); got != k.want {
				t.Errorf("the token makes %q, want %q", got, k.want)
			}
		})
	}
}
