package gateway

import (
	"cmp"
	"crypto/sha256"
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
	// TLSCert, TLSKey and TLSCA are PEM files that stand for the document's cluster.tls; all three or none.
	TLSCert, TLSKey, TLSCA string
	// Insecure takes files with tokens, keys and secrets that others on the machine may read.
	Insecure bool
	// Logger receives what happens; nil means slog.Default.
	Logger *slog.Logger

	reader *config.Reader // of a gateway that runs: it knows what has been read before; nil reads everything
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

// read reads the document and all files that belong to it, and makes of it what a gateway runs on. The error is
// everything that is wrong.
func (c *Config) read() (*setup, error) { return c.make(c.look()) }

// look is what is on disk now.
func (c *Config) look() onDisk {
	if c.Path == "" {
		return onDisk{err: errors.New("config: name the document, such as gateway.yaml")}
	}
	text, err := config.ReadText(c.Path)
	return onDisk{text, err}
}

// make is read of a text that was on disk; all files that belong to it are read now.
func (c *Config) make(found onDisk) (*setup, error) {
	if found.err != nil {
		return nil, found.err
	}
	doc, err := cmp.Or(c.reader, &config.Reader{Insecure: c.Insecure}).Parse(c.Path, found.text)
	if err != nil {
		return nil, err
	}
	digest := doc.Digest()
	over, text, err := c.override(doc)
	if err != nil {
		return nil, err
	}
	if err := over.Validate(); err != nil {
		return nil, fmt.Errorf("with what the command line says: %w", err)
	}
	digest = sha256.Sum256(append(digest[:], text...))
	return newSetup(over, digest)
}

// override is the document as the command line has it, and the text of what stands for something in it.
func (c *Config) override(doc *config.Document) (*config.Document, []byte, error) {
	over := *doc
	if len(c.Servers) > 0 {
		over.Cluster.Servers = c.Servers
	}
	if c.TLSCert == "" && c.TLSKey == "" && c.TLSCA == "" {
		return &over, nil, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" || c.TLSCA == "" {
		return nil, nil, errSomeTLS
	}
	over.Cluster.TLS = &config.MutualTLS{}
	var all []byte
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
			return nil, nil, fmt.Errorf("%s: %w", f.option, err)
		}
		*f.into = config.FileOf(text)
		all = append(all, text...)
	}
	return &over, all, nil
}
