package credentials

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/ring/secret"
)

// TLSFiles name a certificate, its key, and the authorities that the other side's certificate must come from: three files
// in PEM, all or none.
type TLSFiles struct {
	// Cert is the own certificate, followed by those between it and its authority, if there are any.
	Cert string
	// Key is the private key of the first certificate in Cert, not encrypted.
	Key string
	// CA is one or more certificates of authorities.
	CA string
	// Insecure takes a Key that others on the machine may read.
	Insecure bool
}

// Given says whether there are files. The error names the option that is missing.
func (f TLSFiles) Given() (bool, error) {
	if f.Cert == "" && f.Key == "" && f.CA == "" {
		return false, nil
	}
	for _, o := range f.options() {
		if o.path == "" {
			return false, fmt.Errorf("%s: is missing: give all three of tls-cert, tls-key and tls-ca, or none of them", o.name)
		}
	}
	return true, nil
}

// An option is a file and the name of the option that names it.
type option struct{ name, path string }

func (f TLSFiles) options() [3]option {
	return [3]option{{"tls-cert", f.Cert}, {"tls-key", f.Key}, {"tls-ca", f.CA}}
}

// CallerTLS is what a caller needs to speak to nodes that were started with --tls-cert, --tls-key and --tls-ca: it shows the
// certificate of the files, and takes nodes whose certificate comes from their authorities and bears the name that was
// dialed. The error names the option that is wrong: a file cannot be read, the certificate does not fit its key or is not
// valid now.
func CallerTLS(f TLSFiles) (*tls.Config, error) {
	if given, err := f.Given(); err != nil || !given {
		return nil, errors.Join(err, errors.New("tls-cert, tls-key, tls-ca: no files"))
	}
	contents, err := f.load()
	if err != nil {
		return nil, err
	}
	own, authorities, err := f.parse(contents, time.Now())
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, RootCAs: authorities, NextProtos: []string{"h2"},
	}, nil
}

// contents are those of the three files.
type contents [3][]byte

// digest is another one whenever something in the files has changed.
func (c *contents) digest() [sha256.Size]byte {
	var all []byte
	for _, text := range c {
		one := sha256.Sum256(text)
		all = append(all, one[:]...)
	}
	return sha256.Sum256(all)
}

// maxPEM is how many bytes of a file are read; more than any is long.
const maxPEM = 16 << 20

// load reads the three files.
func (f TLSFiles) load() (*contents, error) {
	c := new(contents)
	for i, o := range f.options() {
		text, err := secret.Read(o.path, maxPEM, f.Insecure || o.path != f.Key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
		c[i] = text
	}
	return c, nil
}

// parse makes a certificate that is valid now, and authorities, of the contents.
func (f TLSFiles) parse(c *contents, now time.Time) (own tls.Certificate, authorities *x509.CertPool, err error) {
	chain, err := certificates(c[0])
	if err != nil {
		return own, nil, fmt.Errorf("tls-cert: %s: %w", f.Cert, err)
	}
	if block, _ := pem.Decode(c[1]); block == nil {
		return own, nil, fmt.Errorf("tls-key: %s: holds no private key in PEM", f.Key)
	}
	if own, err = tls.X509KeyPair(c[0], c[1]); err != nil {
		return own, nil, fmt.Errorf("tls-key: %s: is not the private key of the certificate in tls-cert, %s: %w", f.Key, f.Cert, err)
	}
	own.Leaf = chain[0]
	switch {
	case now.After(own.Leaf.NotAfter):
		return own, nil, fmt.Errorf("tls-cert: %s: expired at %s: renew it", f.Cert, own.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(own.Leaf.NotBefore):
		return own, nil, fmt.Errorf("tls-cert: %s: is valid only from %s on, and this machine's clock says %s",
			f.Cert, own.Leaf.NotBefore.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	trusted, err := certificates(c[2])
	if err != nil {
		return own, nil, fmt.Errorf("tls-ca: %s: %w", f.CA, err)
	}
	authorities = x509.NewCertPool()
	for _, authority := range trusted {
		authorities.AddCert(authority)
	}
	return own, authorities, nil
}

// certificates are those in a text, at least one.
func certificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(found)+1, err)
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil, errors.New("holds no certificate in PEM")
	}
	return found, nil
}
