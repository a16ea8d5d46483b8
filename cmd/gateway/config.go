package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/ring/secret"
)

// Config says what a gateway process is. Only Path is required.
type Config struct {
	// Path is the document, gateway.yaml. It is looked at again while the gateway runs: see [Gateway.Run].
	Path string
	// Servers, if there are any, are the cluster's instead of those that the document names.
	Servers []string
	// TLSCert, TLSKey and TLSCA are PEM files that replace the document's cluster.tls; all three or none.
	TLSCert, TLSKey, TLSCA string
	// AccessLog, if it is not empty, is the file of the access log, or -, instead of the document's access_log.path.
	AccessLog string
	// Insecure takes files with tokens, keys and secrets that others on the machine may read.
	Insecure bool
	// Logger receives what happens; nil means slog.Default.
	Logger *slog.Logger

	reader *config.Reader // of a running gateway: it reads only what has changed; nil reads everything
}

func (c *Config) setDefaults() {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.reader = &config.Reader{Insecure: c.Insecure}
}

// maxPEM is how many bytes are read of each of these files.
const maxPEM = 1 << 20

// errSomeTLS refuses half of what is presented to nodes.
var errSomeTLS = errors.New("tls-cert, tls-key, tls-ca: give all three, or none")

// read reads the document and all files that it names, and makes the setup of a gateway from them. The error is everything that is
// wrong.
func (c *Config) read() (*setup, error) { return c.make(c.look(), nil) }

// onDisk is what one look finds: the text of the document, or why it cannot be read.
type onDisk struct {
	text []byte
	err  error
}

// same says whether two looks have found the same.
func (d onDisk) same(other onDisk) bool {
	if d.err != nil || other.err != nil {
		return d.err != nil && other.err != nil && d.err.Error() == other.err.Error()
	}
	return bytes.Equal(d.text, other.text)
}

// look is what is on disk now.
func (c *Config) look() onDisk {
	if c.Path == "" {
		return onDisk{err: errors.New("config: name the document, such as gateway.yaml")}
	}
	text, err := config.ReadText(c.Path)
	return onDisk{text, err}
}

// make is read of a text that was on disk; the files that it names are read now. Where running is not nil, the files that a gateway
// reads only once, when it starts, are those of running.
func (c *Config) make(found onDisk, running *setup) (*setup, error) {
	if found.err != nil {
		return nil, found.err
	}
	doc, err := cmp.Or(c.reader, &config.Reader{Insecure: c.Insecure}).Parse(c.Path, found.text)
	if err != nil {
		return nil, err
	}
	over, err := c.override(doc)
	if err != nil {
		return nil, err
	}
	if running != nil {
		over.KeepAuthorities(running.doc)
	}
	if err := over.Validate(); err != nil {
		return nil, fmt.Errorf("with the options of the command line: %w", err)
	}
	s, err := newSetup(over, over.Digest())
	if err != nil {
		return nil, err
	}
	s.text = found.text
	return s, nil
}

// withKeys is running with the API keys that its keys_file holds now. All else is as it was read.
func (c *Config) withKeys(running *setup) (*setup, error) {
	doc, err := c.reader.WithKeys(c.Path, running.doc)
	if err != nil {
		return nil, err
	}
	s, err := newSetup(doc, doc.Digest())
	if err != nil {
		return nil, err
	}
	s.text = running.text
	return s, nil
}

// override is the document with what the command line says instead.
func (c *Config) override(doc *config.Document) (*config.Document, error) {
	over := *doc
	if c.AccessLog != "" {
		over.AccessLog.Path = c.AccessLog
	}
	if len(c.Servers) > 0 {
		over.Cluster.Servers = c.Servers
	}
	if c.TLSCert == "" && c.TLSKey == "" && c.TLSCA == "" {
		return &over, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" || c.TLSCA == "" {
		return nil, errSomeTLS
	}
	over.Cluster.TLS = &config.MutualTLS{}
	for _, f := range []struct {
		option, path string
		into         *config.File
	}{
		{"tls-cert", c.TLSCert, &over.Cluster.TLS.Cert},
		{"tls-key", c.TLSKey, &over.Cluster.TLS.Key},
		{"tls-ca", c.TLSCA, &over.Cluster.TLS.CA},
	} {
		text, err := secret.Read(f.path, maxPEM, c.Insecure || f.into != &over.Cluster.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.option, err)
		}
		*f.into = config.FileOf(text)
	}
	return &over, nil
}
