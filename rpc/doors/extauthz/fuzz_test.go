package extauthz_test

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/rpc/doors/extauthz"
)

// FuzzQuestion decodes any bytes as a CheckRequest. The handler sees what the attributes say, once, and headers that could have come over
// HTTP; or else the answer is a denial or InvalidArgument.
func FuzzQuestion(f *testing.F) {
	for _, r := range []*authv3.CheckRequest{
		ask("GET /"), merged(ask("POST /a?b=c", "Cookie: a=b", "X-A: 1", "X-A: 2")), ask("GET /", "X-Forwarded-Uri: /free", "X-Original-Method: PUT"), ask("GET *", "From: ::1"),
		ask("GET /", "From: ::ffff:192.0.2.1"), ask("GET /", "From: fe80::1%eth0"),
		ask("G\x01T /\r\n", "X-Forwarded-For: 1, 2"), merged(ask("GET /", "X-A: ,,,", "Host: ")),
		{},
	} {
		text, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var q authv3.CheckRequest
		if proto.Unmarshal(text, &q) != nil {
			return
		}
		said := q.GetAttributes().GetRequest().GetHttp()
		reached := false
		d, err := extauthz.New(extauthz.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached = true
			for name, want := range map[string]string{"X-Forwarded-Method": said.GetMethod(), "X-Forwarded-Uri": said.GetPath()} {
				if !slices.Equal(r.Header[name], []string{want}) {
					t.Errorf("%s is %q, want %q", name, r.Header[name], want)
				}
			}
			if hosts := r.Header["X-Forwarded-Host"]; r.Host != said.GetHost() || len(hosts) > 1 || len(hosts) == 1 && hosts[0] != said.GetHost() {
				t.Errorf("the host is %q, %q", r.Host, hosts)
			}
			hops := r.Header["X-Forwarded-For"]
			client, err := netip.ParseAddr(q.GetAttributes().GetSource().GetAddress().GetSocketAddress().GetAddress())
			if err != nil || len(hops) == 0 || hops[len(hops)-1] != client.Unmap().WithZone("").String() {
				t.Errorf("the client is %v, and the hops are %q", client, hops)
			}
			size := 0
			for name, values := range r.Header {
				if name != http.CanonicalHeaderKey(name) || !httpguts.ValidHeaderFieldName(name) {
					t.Errorf("a header is called %q", name)
				}
				for _, value := range values {
					size += len(name) + len(value)
					if !httpguts.ValidHeaderFieldValue(value) {
						t.Errorf("%s is %q", name, value)
					}
				}
			}
			for _, name := range []string{"X-Original-Method", "X-Original-Uri", "X-Original-Url", "Host"} {
				if _, there := r.Header[name]; there {
					t.Errorf("%s is there", name)
				}
			}
			if size > 128<<10+200 {
				t.Errorf("the header has %d bytes", size)
			}
			w.WriteHeader(http.StatusOK)
		})})
		if err != nil {
			t.Fatal(err)
		}
		w, err := d.Check(t.Context(), &q)
		switch {
		case err != nil && (reached || status.Code(err) != codes.InvalidArgument):
			t.Errorf("reached %v, %v", reached, err)
		case err == nil && (w.GetStatus().GetCode() == 0) != reached:
			t.Errorf("reached %v, %v", reached, w)
		case err == nil:
			if _, err := proto.Marshal(w); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzVerdict makes answers of any status, header and body: all of them can be sent, and only 2xx lets a request pass.
func FuzzVerdict(f *testing.F) {
	f.Add(429, "Retry-After", "1", []byte("no"))
	f.Add(200, "RateLimit", "\xff\r\n", []byte("\xff"))
	f.Add(999, "Connection", "x", []byte{})
	f.Add(100, "", "", []byte{})
	f.Fuzz(func(t *testing.T, code int, name, value string, body []byte) {
		if code < 100 || code > 999 {
			return // net/http panics, and so may a handler
		}
		d, err := extauthz.New(extauthz.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()[name] = []string{value, value}
			w.WriteHeader(code)
			_, _ = w.Write(body)
		})})
		if err != nil {
			t.Fatal(err)
		}
		w, err := d.Check(t.Context(), ask("GET /"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proto.Marshal(w); err != nil {
			t.Error(err)
		}
		if code < 200 {
			code = 200 // informational: the body begins the answer
		}
		if a := read(t, w); (a.status == 200) != (code/100 == 2) || a.status != 200 && a.status != code {
			t.Errorf("%d became %d", code, a.status)
		}
		for _, o := range append(w.GetOkResponse().GetResponseHeadersToAdd(), w.GetDeniedResponse().GetHeaders()...) {
			if !httpguts.ValidHeaderFieldName(o.GetHeader().GetKey()) || !httpguts.ValidHeaderFieldValue(o.GetHeader().GetValue()) {
				t.Errorf("%v", o)
			}
		}
	})
}
