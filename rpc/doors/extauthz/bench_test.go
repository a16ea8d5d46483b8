package extauthz_test

import (
	"net/http"
	"testing"

	"github.com/jeton-dev/jeton/rpc/doors/extauthz"
)

// BenchmarkCheck is what the door adds to the answer of a handler, for a request with ten headers. The connection is not in it.
func BenchmarkCheck(b *testing.B) {
	d, err := extauthz.New(extauthz.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", `"api";r=59;t=59`)
		w.Header().Set("RateLimit-Policy", `"api";q=60;w=60`)
		w.WriteHeader(http.StatusOK)
	})})
	if err != nil {
		b.Fatal(err)
	}
	lines := []string{
		"Accept: text/html,application/xhtml+xml", "Accept-Language: de,en;q=0.5", "Cookie: session=1; seen=2", "User-Agent: Mozilla/5.0 (X11; Linux) (KHTML, like Gecko)",
		"X-Api-Key: test-key-123", "X-Request-Id: 7a1f3b", "X-Forwarded-Proto: https", "X-Forwarded-For: 198.51.100.1", "Accept-Encoding: gzip, br", "Origin: https://app.example.com",
	}
	for name, r := range forms {
		b.Run(name, func(b *testing.B) {
			q := r(ask("GET /v1/items?page=2", lines...))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Check(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
