package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
)

// valueOf is what a counter or a gauge shows.
func valueOf(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue()
}

// wrongFiles are changes to good files, and what is said of them.
func wrongFiles(t *testing.T, ca *authority.Authority) map[string]struct {
	change func(*testing.T, authority.Files)
	says   []string
} {
	t.Helper()
	write := func(t *testing.T, path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair := func(p authority.Pair) func(*testing.T, authority.Files) {
		return func(t *testing.T, f authority.Files) {
			t.Helper()
			write(t, f.Cert, p.Cert)
			write(t, f.Key, p.Key)
		}
	}
	now := time.Now()
	type wrong = struct {
		change func(*testing.T, authority.Files)
		says   []string
	}
	remove := func(path func(authority.Files) string) func(*testing.T, authority.Files) {
		return func(t *testing.T, f authority.Files) {
			t.Helper()
			if err := os.Remove(path(f)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return map[string]wrong{
		"another key": {func(t *testing.T, f authority.Files) {
			t.Helper()
			write(t, f.Key, ca.Issue(t, "other").Key)
		}, []string{"tls-key: ", "tls.key: is not the private key of the certificate in tls-cert"}},
		"expired": {pair(ca.IssueFor(t, "node", now.Add(-48*time.Hour), now.Add(-24*time.Hour))), []string{"tls-cert: ", "expired at ", "renew it"}},
		"early":   {pair(ca.IssueFor(t, "node", now.Add(24*time.Hour), now.Add(48*time.Hour))), []string{"tls-cert: ", "valid only from ", "clock"}},
		"no certificate": {func(t *testing.T, f authority.Files) {
			t.Helper()
			write(t, f.Cert, ca.Issue(t, "other").Key)
		}, []string{"tls-cert: ", "holds no certificate"}},
		"no key": {func(t *testing.T, f authority.Files) {
			t.Helper()
			write(t, f.Key, []byte("a key"))
		}, []string{"tls-key: ", "holds no private key"}},
		"a certificate as key": {func(t *testing.T, f authority.Files) {
			t.Helper()
			write(t, f.Key, ca.PEM())
		}, []string{"tls-key: ", "is not the private key"}},
		"no authority": {func(t *testing.T, f authority.Files) {
			t.Helper()
			write(t, f.CA, nil)
		}, []string{"tls-ca: ", "holds no certificate"}},
		"half an authority": {func(t *testing.T, f authority.Files) {
			t.Helper()
			write(t, f.CA, append(ca.PEM(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"...))
		}, []string{"tls-ca: ", "certificate 2 cannot be read"}},
		"no file cert": {remove(func(f authority.Files) string { return f.Cert }), []string{"tls-cert: ", "no such file"}},
		"no file key":  {remove(func(f authority.Files) string { return f.Key }), []string{"tls-key: ", "no such file"}},
		"no file CA":   {remove(func(f authority.Files) string { return f.CA }), []string{"tls-ca: ", "no such file"}},
	}
}

// TestWrongCertificates checks that wrong files are refused at first, and later change nothing.
func TestWrongCertificates(t *testing.T) {
	ca := authority.New(t, "ours")
	for what, wrong := range wrongFiles(t, ca) {
		t.Run(what, func(t *testing.T) {
			dir, first := t.TempDir(), ca.Issue(t, "node")
			files := authority.Write(t, dir, first, ca)
			c := metricsOf(t, files, nil)
			expiry := valueOf(t, c.metrics.expiry)
			if want := first.TLS(t).Leaf.NotAfter.Unix(); expiry != float64(want) {
				t.Errorf("the metric says %v, want %d", expiry, want)
			}
			wrong.change(t, files)
			check := func(err error) {
				t.Helper()
				for _, says := range wrong.says {
					if err == nil || !strings.Contains(err.Error(), says) {
						t.Errorf("got %v, want %q", err, says)
					}
				}
			}
			_, err := NewCertificates(CertificatesConfig{Files: TLSFiles(files)})
			check(err)
			_, err = CallerTLS(TLSFiles(files))
			check(err)
			for times := 1; times < 3; times++ {
				changed, err := c.Reload()
				check(err)
				if changed || valueOf(t, c.metrics.failures) != float64(times) {
					t.Errorf("changed %v, %v failures, want %d", changed, valueOf(t, c.metrics.failures), times)
				}
			}
			if !c.current.Load().own.Leaf.Equal(first.TLS(t).Leaf) || valueOf(t, c.metrics.expiry) != expiry {
				t.Error("another certificate is in force")
			}
			second := ca.Issue(t, "node")
			authority.Write(t, dir, second, ca)
			if changed, err := c.Reload(); !changed || err != nil || !c.current.Load().own.Leaf.Equal(second.TLS(t).Leaf) {
				t.Errorf("good files again: changed %v, %v", changed, err)
			}
			if changed, err := c.Reload(); changed || err != nil {
				t.Errorf("the same files: changed %v, %v", changed, err)
			}
		})
	}
}

// TestCertificateOfTheFutureComesIntoForce reloads a pair that was refused when its time has come.
func TestCertificateOfTheFutureComesIntoForce(t *testing.T) {
	ca, dir, now := authority.New(t, "ours"), t.TempDir(), time.Now()
	c := metricsOf(t, authority.Write(t, dir, ca.Issue(t, "node"), ca), func() time.Time { return now })
	early := ca.IssueFor(t, "node", now.Add(time.Hour), now.Add(10*time.Hour))
	authority.Write(t, dir, early, ca)
	if changed, err := c.Reload(); changed || err == nil {
		t.Fatalf("changed %v, %v", changed, err)
	}
	now = now.Add(2 * time.Hour)
	if changed, err := c.Reload(); !changed || err != nil || !c.current.Load().own.Leaf.Equal(early.TLS(t).Leaf) {
		t.Errorf("changed %v, %v", changed, err)
	}
}

func TestCertificatesNeedAllFiles(t *testing.T) {
	all := TLSFiles{Cert: "a", Key: "b", CA: "c"}
	for _, tt := range []struct {
		files TLSFiles
		says  string
	}{
		{TLSFiles{Key: all.Key, CA: all.CA}, "tls-cert: is missing: give all three"},
		{TLSFiles{Cert: all.Cert, CA: all.CA}, "tls-key: is missing: give all three"},
		{TLSFiles{Cert: all.Cert, Key: all.Key}, "tls-ca: is missing: give all three"},
		{TLSFiles{CA: all.CA}, "tls-cert: is missing"},
	} {
		if given, err := tt.files.Given(); given || err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v, %v, want %q", tt.files, given, err, tt.says)
		}
		if _, err := CallerTLS(tt.files); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v, want %q", tt.files, err, tt.says)
		}
	}
	if given, err := all.Given(); !given || err != nil {
		t.Errorf("%v, %v", given, err)
	}
	if given, err := (TLSFiles{}).Given(); given || err != nil {
		t.Errorf("%v, %v", given, err)
	}
	if _, err := CallerTLS(TLSFiles{}); err == nil {
		t.Error("a caller has a certificate of no files")
	}
	if _, err := NewCertificates(CertificatesConfig{Files: TLSFiles{Cert: filepath.Join(t.TempDir(), "none")}}); err == nil {
		t.Error("certificates of a file that is not there")
	}
}

func TestCertificatesMetricsAreRegistered(t *testing.T) {
	ca, registry := authority.New(t, "ours"), prometheus.NewRegistry()
	files := TLSFiles(authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca))
	if _, err := NewCertificates(CertificatesConfig{Files: files, Registerer: registry}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jeton_tls_certificate_expiry_timestamp_seconds", "jeton_tls_reload_failures_total"} {
		if got := metricstest.Gather(t, registry, name); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, err := NewCertificates(CertificatesConfig{Files: files, Registerer: registry}); err == nil {
		t.Error("two have the same metrics")
	}
}

// metricsOf are Certificates with metrics.
func metricsOf(t *testing.T, f authority.Files, now func() time.Time) *Certificates {
	t.Helper()
	c, err := NewCertificates(CertificatesConfig{Files: TLSFiles(f), Now: now, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
