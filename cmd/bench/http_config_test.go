package bench

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// The configuration is one that a gateway takes, knows every client, and admits nothing by itself.
func TestGatewayText(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, secretFile), []byte(apiSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{ByAPIKey, ByHeader} {
		h := &HTTPing{By: by, KeyCount: 7, Setup: Setup{Temp: dir}}
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		text, err := h.gatewayText([]string{"127.0.0.1:1", "127.0.0.1:2"}, "http://127.0.0.1:3")
		if err != nil {
			t.Fatal(err)
		}
		d, err := config.Parse([]byte(text), dir)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if len(d.Cluster.Servers) != 2 || d.Proxy.Upstreams["things"].URLs[0] != "http://127.0.0.1:3" || d.ForwardAuth == nil {
			t.Errorf("%+v of:\n%s", d, text)
		}
		if c := d.Routes[0].Checks[0]; len(c.Limits) != 1 || c.Limits[0] != openLimit || c.OnUnavailable != limit.Deny {
			t.Errorf("%+v", c)
		}
		if by == ByHeader {
			if d.Identity.Key[0] != "client:{header.X-Client}" || d.Identity.APIKey != nil || h.clientHeader() != "X-Client" {
				t.Errorf("%+v", d.Identity)
			}
			continue
		}
		known := map[string]bool{}
		for _, k := range d.Identity.APIKey.Known {
			known[k.Digest] = true
		}
		for _, key := range makeKeys(7) {
			m := hmac.New(sha256.New, []byte(apiSecret))
			m.Write([]byte(key))
			if digest := hex.EncodeToString(m.Sum(nil)); !known[digest] {
				t.Errorf("%s with digest %s is not known", key, digest)
			}
		}
		if len(known) != 7 || h.clientHeader() != d.Identity.APIKey.HeaderName() {
			t.Errorf("%d are known, in %s", len(known), d.Identity.APIKey.HeaderName())
		}
	}
}
