package standin

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// A File is one that a variable names; the path is empty if it is not set.
type File struct{ Variable, Path string }

// Files are a certificate, its key, and the authorities of the other side, which are followed: see [Files.Now]. A certificate and its key are given together, or neither.
type Files struct {
	Cert, Key, CA File

	mu     sync.Mutex
	looked time.Time
	digest [sha256.Size]byte
	now    *Credentials
	logged string // what was wrong at the last look, in the log
}

// Credentials are what files have said. They do not change.
type Credentials struct {
	Shown *tls.Certificate // nil if none is named
	Pool  *x509.CertPool   // nil for those of the system
}

// files are those of variables.
func (e *environment) files(cert, key, ca string) *Files {
	f := &Files{Cert: File{cert, e.text(cert, "")}, Key: File{key, e.text(key, "")}, CA: File{ca, e.text(ca, "")}}
	if f.Cert.Path == "" && f.Key.Path != "" {
		e.wrong(cert, "is missing beside %s: name the file with the certificate", key)
	}
	if f.Cert.Path != "" && f.Key.Path == "" {
		e.wrong(key, "is missing beside %s: name the file with its private key", cert)
	}
	return f
}

// lookEvery is how often files are looked at, at most: they are where something is shown to somebody.
const lookEvery = time.Second

// Now is what the files say. Where they are wrong, what they said before stays, and the log says so; the error is of files that never were right.
func (f *Files) Now(log *slog.Logger) (*Credentials, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil && time.Since(f.looked) < lookEvery {
		return f.now, nil
	}
	f.looked = time.Now()
	err := f.readLocked()
	switch {
	case err == nil:
		f.logged = ""
	case f.now == nil:
		return nil, err
	case err.Error() != f.logged:
		f.logged = err.Error()
		log.Error("new certificates are not taken, and those before stay", "error", err)
	}
	return f.now, nil
}

// readLocked reads the files, and puts in force what has changed.
func (f *Files) readLocked() error {
	var texts [3][]byte
	var all []byte
	for i, one := range []File{f.Cert, f.Key, f.CA} {
		text, err := one.read()
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		texts[i], all = text, append(all, sum[:]...)
	}
	digest := sha256.Sum256(all)
	if f.now != nil && digest == f.digest {
		return nil
	}
	c := &Credentials{}
	if f.Cert.Path != "" {
		pair, err := tls.X509KeyPair(texts[0], texts[1])
		if err != nil {
			return fmt.Errorf("%s, %s: %s and %s: %w", f.Cert.Variable, f.Key.Variable, f.Cert.Path, f.Key.Path, err)
		}
		if now := time.Now(); now.After(pair.Leaf.NotAfter) {
			return fmt.Errorf("%s: %s: expired at %s: renew it", f.Cert.Variable, f.Cert.Path, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
		}
		c.Shown = &pair
	}
	if f.CA.Path != "" {
		c.Pool = x509.NewCertPool()
		if !c.Pool.AppendCertsFromPEM(texts[2]) {
			return fmt.Errorf("%s: %s: holds no certificate in PEM", f.CA.Variable, f.CA.Path)
		}
	}
	f.now, f.digest = c, digest
	return nil
}

// maxPEM is how many bytes a file may have; more than any is long.
const maxPEM = 1 << 20

// read is the text of the file; nil if none is named.
func (f File) read() ([]byte, error) {
	if f.Path == "" {
		return nil, nil
	}
	info, err := os.Stat(f.Path) // before it is opened, since a pipe would make that wait
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Variable, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %s is no regular file", f.Variable, f.Path)
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Variable, err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(file, maxPEM+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Variable, err)
	case n > maxPEM:
		return nil, fmt.Errorf("%s: %s: has more than %d bytes", f.Variable, f.Path, maxPEM)
	}
	return text.Bytes(), nil
}

// server is the configuration of the gRPC port, as the files say it now.
func (s *Settings) server(log *slog.Logger) (*tls.Config, error) {
	c, err := s.TLS.Now(log)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*c.Shown}, NextProtos: []string{"h2"}, SessionTicketsDisabled: true}
	if c.Pool == nil {
		return config, nil
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, c.Pool
	if s.ClientSAN != "" {
		config.VerifyConnection = func(of tls.ConnectionState) error {
			if len(of.PeerCertificates) == 0 {
				return errors.New("the client shows no certificate")
			}
			return of.PeerCertificates[0].VerifyHostname(s.ClientSAN)
		}
	}
	return config, nil
}

// client is the configuration of a client, as the files say it now.
func (f *Files) client(log *slog.Logger) (*tls.Config, error) {
	c, err := f.Now(log)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.Pool, NextProtos: []string{"h2"}}
	if c.Shown != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			now, err := f.Now(log)
			if err != nil {
				return nil, err
			}
			return now.Shown, nil
		}
	}
	return config, nil
}
