package cli

import (
	"crypto/tls"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
)

// A Credential is what a verb shows to a node: a certificate, the cluster key, or nothing; and a token of an operator.
type Credential struct {
	files     credentials.TLSFiles
	keyFile   string
	tokenFile string
}

// AddCertificateFlags adds those of callers.
func (c *Credential) AddCertificateFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.files.Cert, "tls-cert", "", "PEM file with the certificate to show to nodes that have their callers speak TLS; also JETON_TLS_CERT")
	flags.StringVar(&c.files.Key, "tls-key", "", "PEM file with the key of that certificate")
	flags.BoolVar(&c.files.Insecure, "insecure", false, "accept key and token files that other users of this machine may read")
	flags.StringVar(&c.files.CA, "tls-ca", "", "PEM file with the authorities that the nodes' certificates must come from")
}

// AddFlags adds those of operators too.
func (c *Credential) AddFlags(flags *pflag.FlagSet) {
	c.AddCertificateFlags(flags)
	flags.StringVar(&c.keyFile, "cluster-key-file", "", "file with the cluster key, which changes to the cluster need; it takes the place of a certificate")
	flags.StringVar(&c.tokenFile, "token-file", "", "file with a token of an operator, instead of the cluster key: to show and fill buckets and change limits")
}

// Token reads the first token of the file; nil without a file.
func (c *Credential) Token() (func() string, error) {
	if c.tokenFile == "" {
		return nil, nil //nolint:nilnil // no token is what was asked for
	}
	token, err := credentials.ReadToken(c.tokenFile, c.files.Insecure)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	return func() string { return token }, nil
}

// TLS is how to connect; nil is plain text. The cluster key permits all that a certificate permits, so it is used where both
// are given.
func (c *Credential) TLS() (*tls.Config, error) {
	given, err := c.files.Given()
	switch {
	case err != nil:
		return nil, err
	case c.keyFile != "":
		k, err := key.Read(c.keyFile, c.files.Insecure)
		if err != nil {
			return nil, err
		}
		return k.TLS(), nil
	case given:
		return credentials.CallerTLS(c.files)
	}
	return nil, nil //nolint:nilnil // plain text is what was asked for
}
