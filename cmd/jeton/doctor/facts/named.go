package facts

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/internal/bearer"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/ring/secret"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// Named is a file that an option names.
type Named struct {
	Option string `json:"option"`
	Path   string `json:"path"`
	Wrong  string `json:"wrong,omitempty"` // why a node would not take it
	// Closed says that the user that owns the data folder may not read it, though this one may.
	Closed string `json:"closed,omitempty"`
	// Ends is when the first of its certificates ends; nil where it has none.
	Ends *time.Time `json:"ends,omitempty"`
}

// namedBy reads the files that a node's options name, for a node that runs as the owner of its data folder.
func namedBy(c *node.Config, as owner) (all []Named) {
	add := func(option, path string, read func() error) {
		if path == "" {
			return
		}
		n := Named{Option: option, Path: path}
		if err := read(); err != nil {
			n.Wrong = err.Error()
		} else if as.known && os.Geteuid() == 0 && as.uid != 0 && !as.mayRead(path) {
			n.Closed = as.name()
		}
		if option == "tls-cert" || option == "tls-ca" {
			n.Ends = firstEnd(path)
		}
		all = append(all, n)
	}
	add("cluster-key-file", c.ClusterKeyFile, func() error {
		_, err := key.Read(c.ClusterKeyFile, c.Insecure)
		return err
	})
	add("admin-token-file", c.AdminTokenFile, func() error { return tokens(c.AdminTokenFile, c.Insecure) })
	add("redis-token-file", c.RedisTokenFile, func() error { return tokens(c.RedisTokenFile, c.Insecure) })
	files := credentials.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, CA: c.TLSCA, Insecure: c.Insecure}
	add("tls-cert", c.TLSCert, func() error {
		_, err := credentials.CallerTLS(files)
		return err
	})
	add("tls-key", c.TLSKey, func() error { return nil }) // with the certificate
	add("tls-ca", c.TLSCA, func() error { return nil })
	add("limits", c.Limits, func() error {
		text, err := os.ReadFile(c.Limits)
		if err == nil {
			_, err = limit.ReadDocument(text)
		}
		return err
	})
	add("rls-config", c.RLSConfig, func() error {
		found, err := rls.Check(c.RLSConfig)
		if err == nil && len(found.Problems) > 0 {
			err = errors.New(found.String())
		}
		return err
	})
	add("kuadrant-config", c.KuadrantConfig, func() error {
		found, err := kuadrant.Check(c.KuadrantConfig)
		if err == nil && len(found.Problems) > 0 {
			err = errors.New(found.String())
		}
		return err
	})
	return all
}

// maxTokens is how many bytes of a file of tokens are read.
const maxTokens = 16 << 20

// tokens says what is wrong with a file of tokens.
func tokens(path string, insecure bool) error {
	text, err := secret.Read(path, maxTokens, insecure)
	if err == nil {
		_, err = bearer.Parse(text)
	}
	return err
}

// firstEnd is when the first of the certificates in a file ends; nil where it has none.
func firstEnd(path string) (first *time.Time) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && (first == nil || c.NotAfter.Before(*first)) {
			first = &c.NotAfter
		}
	}
	return first
}

// mayRead says whether a user may read a file, by its mode.
func (o owner) mayRead(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	of, mode := ownerOf(info), info.Mode().Perm()
	switch {
	case of.uid == o.uid:
		return mode&0o400 != 0
	case slices.Contains(o.groups(), of.gid):
		return mode&0o040 != 0
	}
	return mode&fs.FileMode(0o004) != 0
}

// groups are those that the user is in.
func (o owner) groups() []int {
	all := []int{o.gid}
	if u, err := user.LookupId(strconv.Itoa(o.uid)); err == nil {
		ids, _ := u.GroupIds()
		for _, id := range ids {
			if n, err := strconv.Atoi(id); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// name is what the user is called.
func (o owner) name() string {
	if u, err := user.LookupId(strconv.Itoa(o.uid)); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(o.uid)
}
