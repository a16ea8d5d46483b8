package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
)

// A dialect is what an instance speaks, as the first bytes tell that it sends on a connection.
type dialect string

const (
	unheard    dialect = "" // it has sent nothing, or nothing that is known here
	overTLS    dialect = "TLS"
	plainHTTP1 dialect = "HTTP/1.1 without TLS"
	plainHTTP2 dialect = "HTTP/2 without TLS"
)

// dialectOf is what begins with these bytes: an alert or a handshake of TLS (RFC 8446, section 5.1), a status line, or the SETTINGS
// without flags by which HTTP/2 begins (RFC 9113, section 3.4). Some servers of HTTP/1.1 answer what they cannot read with a page and
// no status line.
func dialectOf(first []byte) dialect {
	const alert, handshake, settings, frame = 21, 22, 4, 9
	switch {
	case bytes.HasPrefix(first, []byte("HTTP/")), bytes.HasPrefix(first, []byte("<")):
		return plainHTTP1
	case len(first) > 1 && (first[0] == alert || first[0] == handshake) && first[1] == 3:
		return overTLS
	case len(first) >= frame && bytes.Equal(first[3:frame], []byte{settings, 0, 0, 0, 0, 0}):
		return plainHTTP2
	}
	return unheard
}

// scheme is that of the URL of an instance which speaks d.
func (d dialect) scheme() string {
	switch d {
	case overTLS:
		return "https"
	case plainHTTP2:
		return config.H2C
	default:
		return "http"
	}
}

// hear notes what the instance begins to say on a connection that is to be in the dialect wants; unheard takes all.
func (i *instance) hear(first []byte, wants dialect) {
	switch heard := dialectOf(first); {
	case heard == unheard || wants == unheard:
	case heard != wants:
		i.foreign.Store(&heard)
	default:
		i.familiar.Store(time.Now().UnixNano())
		if i.foreign.Load() != nil {
			i.foreign.Store(nil)
		}
	}
}

// misnamed says in words that the instance speaks something else than its URL says, and which URL would be right; empty if that
// is not known of it.
func (i *instance) misnamed() string {
	speaks := i.foreign.Load()
	if speaks == nil {
		return ""
	}
	_, rest, _ := strings.Cut(i.name, "://")
	return fmt.Sprintf("%s speaks %s: write %s://%s", i.name, *speaks, speaks.scheme(), rest)
}

// inWords is an error of a connection to the instance or of a request to it, with the reason before it if it is that the URL is wrong.
func (i *instance) inWords(err error) error {
	if why := i.misnamed(); err != nil && why != "" {
		return fmt.Errorf("%s (%w)", why, err)
	}
	return err
}
