package standin_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cmd/ratelimit/standin"
)

// open starts a Service with an environment, on free ports of this machine, which ends with the test.
func open(t *testing.T, environ ...string) *standin.Service {
	t.Helper()
	settings, err := standin.Read(append([]string{"HOST=127.0.0.1", "GRPC_HOST=127.0.0.1", "DEBUG_HOST=127.0.0.1", "PORT=0", "GRPC_PORT=0", "DEBUG_PORT=0"}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	s, err := standin.Open(settings, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// rulesIn makes a directory for RUNTIME_ROOT with one file.
func rulesIn(t *testing.T, text string) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "config", "rules"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// page asks for one.
func page(t *testing.T, url string) (code int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

const someRules = "domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: year, requests_per_unit: 5}}\n"

// healthy waits until the health check says so.
func healthy(t *testing.T, s *standin.Service) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); s.Healthy() != nil; {
		if time.Now().After(end) {
			t.Fatal(s.Healthy())
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestHealthAndPages(t *testing.T) {
	s := open(t, "RUNTIME_ROOT="+rulesIn(t, someRules), "USE_PROMETHEUS=true", "PROMETHEUS_ADDR=127.0.0.1:0", "PROMETHEUS_PATH=/measured")
	healthy(t, s)
	for url, want := range map[string]string{
		"http://" + s.HTTPAddr() + "/healthcheck":    "OK",
		"http://" + s.DebugAddr() + "/rlconfig":      "d.k: unit=YEAR requests_per_unit=5, shadow_mode: false, quota_mode: false\n",
		"http://" + s.DebugAddr() + "/":              "/rlconfig: the rules in force",
		"http://" + s.DebugAddr() + "/metrics":       "jeton_door_rls_requests_total",
		"http://" + s.PrometheusAddr() + "/measured": "jeton_door_panics_total",
	} {
		if code, text := page(t, url); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.300s", url, code, text)
		}
	}
	for _, url := range []string{"http://" + s.HTTPAddr() + "/metrics", "http://" + s.DebugAddr() + "/json", "http://" + s.PrometheusAddr() + "/rlconfig"} {
		if code, _ := page(t, url); code != http.StatusNotFound {
			t.Errorf("%s: %d", url, code)
		}
	}
}

// TestUnhealthy has no rules in force, or none at all, or buckets that cannot be asked.
func TestUnhealthy(t *testing.T) {
	const nobody = "127.0.0.1:1" // a port that no listener on port 0 is given
	rules := "RUNTIME_ROOT=" + rulesIn(t, someRules)
	for want, environ := range map[string][]string{
		"rules:2: nonsense":              {"RUNTIME_ROOT=" + rulesIn(t, "domain: d\nnonsense: 1\n")},
		"the buckets could not be asked": {rules, "JETON_CLUSTER=" + nobody},
		"the rules in force have no dom": {"RUNTIME_ROOT=" + rulesIn(t, "domain: d\nnonsense: 1\n"), "FORCE_START_WITHOUT_INITIAL_CONFIG=true", "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED=true"},
	} {
		t.Run(want, func(t *testing.T) {
			s := open(t, environ...)
			for end := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
				code, text := page(t, "http://"+s.HTTPAddr()+"/healthcheck")
				if code == http.StatusInternalServerError && strings.Contains(text, want) {
					return
				}
				if code != http.StatusInternalServerError || time.Now().After(end) {
					t.Fatalf("%d %s", code, text)
				}
			}
		})
	}
	s := open(t, "RUNTIME_ROOT="+rulesIn(t, "domain: d\nnonsense: 1\n"), "FORCE_START_WITHOUT_INITIAL_CONFIG=true")
	healthy(t, s)
	s = open(t, rules)
	healthy(t, s)
	if err := s.Close(t.Context()); err != nil || s.Healthy() == nil {
		t.Errorf("closed it is healthy: %v", err)
	}
}

// A file in place of the directory of the buckets is said by the name of its variable.
func TestDataThatIsAFile(t *testing.T) {
	root := rulesIn(t, someRules)
	settings, err := standin.Read([]string{"HOST=127.0.0.1", "GRPC_HOST=127.0.0.1", "DEBUG_HOST=127.0.0.1", "PORT=0", "GRPC_PORT=0", "DEBUG_PORT=0", "RUNTIME_ROOT=" + root, "JETON_DATA=" + filepath.Join(root, "config", "rules")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := standin.Open(settings, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "JETON_DATA") || strings.Contains(err.Error(), "--data") {
		t.Errorf("%v", err)
	}
}

// TestWhoMayCall shows certificates to the gRPC port, and looks at the one that is shown.
func TestWhoMayCall(t *testing.T) {
	ca, other, dir := authority.New(t, "ca"), authority.New(t, "another ca"), t.TempDir()
	at := authority.Write(t, dir, ca.Issue(t, "first"), ca)
	environ := []string{"RUNTIME_ROOT=" + rulesIn(t, someRules), "GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=" + at.Cert, "GRPC_SERVER_TLS_KEY=" + at.Key}
	// shake connects, and waits for the settings of HTTP/2, which come after the server has taken the client's certificate.
	shake := func(s *standin.Service, own ...tls.Certificate) (shown string, err error) {
		t.Helper()
		d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca.Pool(), Certificates: own, NextProtos: []string{"h2"}}}
		conn, err := d.DialContext(t.Context(), "tcp", s.GRPCAddr())
		if err != nil {
			return "", err
		}
		defer conn.Close() //nolint:errcheck // it was looked at
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return "", err
		}
		if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			return "", err
		}
		if _, err := io.ReadFull(conn, make([]byte, 9)); err != nil {
			return "", err
		}
		secured, _ := conn.(*tls.Conn)
		return secured.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
	}
	envoy, stranger := ca.Issue(t, "envoy").TLS(t), other.Issue(t, "stranger").TLS(t)

	open1 := open(t, environ...)
	if name, err := shake(open1); err != nil || name != "first" {
		t.Errorf("without an authority of clients, it shows %q: %v", name, err)
	}
	authority.Write(t, dir, ca.Issue(t, "second"), ca)
	for end := time.Now().Add(30 * time.Second); ; <-time.After(50 * time.Millisecond) {
		name, err := shake(open1)
		if name == "second" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it shows %q still: %v", name, err)
		}
	}

	mutual := open(t, append(environ, "GRPC_CLIENT_TLS_CACERT="+at.CA)...)
	if _, err := shake(mutual, envoy); err != nil {
		t.Error("a client with a certificate is refused: ", err)
	}
	if _, err := shake(mutual); err == nil {
		t.Error("a client without a certificate is taken")
	}
	if _, err := shake(mutual, stranger); err == nil {
		t.Error("a client with a certificate of another authority is taken")
	}
	named := open(t, append(environ, "GRPC_CLIENT_TLS_CACERT="+at.CA, "GRPC_CLIENT_TLS_SAN=jeton")...)
	if _, err := shake(named, envoy); err != nil {
		t.Error("a client with the name is refused: ", err)
	}
	misnamed := open(t, append(environ, "GRPC_CLIENT_TLS_CACERT="+at.CA, "GRPC_CLIENT_TLS_SAN=envoy.example.com")...)
	if _, err := shake(misnamed, envoy); err == nil {
		t.Error("a client with another name is taken")
	}
}
