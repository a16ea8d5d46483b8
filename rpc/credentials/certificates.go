package credentials

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/metrics"
)

// CertificatesConfig says where Certificates come from.
type CertificatesConfig struct {
	// Files are read by NewCertificates and by Reload. Required.
	Files TLSFiles
	// Now is the time that certificates must be valid at; nil means time.Now.
	Now func() time.Time
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// Certificates are what a node shows to callers, and by what it knows them: each has a certificate of one of the
// authorities. They follow their files with Reload. Connections that are there stay as they are. Certificates may be used
// by several goroutines at once.
type Certificates struct {
	files   TLSFiles
	now     func() time.Time
	metrics certificateMetrics
	current atomic.Pointer[shown]

	mu     sync.Mutex // of Reload
	digest [sha256.Size]byte
}

// shown is what is in force.
type shown struct {
	own    *tls.Certificate
	mutual *tls.Config // for callers, who show a certificate too
}

// NewCertificates reads the files. The error names the option that is wrong, or says why the metrics cannot be registered.
func NewCertificates(cfg CertificatesConfig) (*Certificates, error) {
	c := &Certificates{files: cfg.Files, now: cfg.Now, metrics: newCertificateMetrics()}
	if c.now == nil {
		c.now = time.Now
	}
	if _, err := c.Reload(); err != nil {
		return nil, err
	}
	if err := metrics.Register(cfg.Registerer, c.metrics.collectors()...); err != nil {
		return nil, err
	}
	return c, nil
}

// Reload reads the files again and puts in force what has changed, all three or, if anything is wrong, none. The error names
// the option that is wrong.
func (c *Certificates) Reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err = c.reloadLocked()
	if err != nil {
		c.metrics.failures.Inc()
	}
	return changed, err
}

func (c *Certificates) reloadLocked() (changed bool, err error) {
	found, err := c.files.load()
	if err != nil {
		return false, err
	}
	digest := found.digest()
	if digest == c.digest {
		return false, nil
	}
	own, authorities, err := c.files.parse(found, c.now())
	if err != nil {
		return false, err
	}
	c.current.Store(&shown{own: &own, mutual: mutual(own, authorities)})
	c.digest = digest
	c.metrics.expiry.Set(float64(own.Leaf.NotAfter.Unix()))
	return true, nil
}

// mutual is the configuration of a server that shows its certificate to callers and wants to see theirs.
func mutual(own tls.Certificate, authorities *x509.CertPool) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		Certificates:           []tls.Certificate{own},
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ClientCAs:              authorities,
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true, // each connection proves it anew, to the authorities that are in force then
	}
}

// HTTPS is the configuration of a server that shows the certificate in force and wants to see none.
func (c *Certificates) HTTPS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load().own, nil },
	}
}

// ofCallers is the configuration in force for a caller of the gRPC port.
func (c *Certificates) ofCallers() *tls.Config { return c.current.Load().mutual }
