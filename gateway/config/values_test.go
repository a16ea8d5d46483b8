package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func TestNetwork(t *testing.T) {
	for _, c := range []struct{ text, want, problem string }{
		{"10.0.0.0/8", "10.0.0.0/8", ""},
		{"10.0.0.1", "10.0.0.1/32", ""},
		{"0.0.0.0/0", "0.0.0.0/0", ""},
		{"::/0", "::/0", ""},
		{"2001:db8::/32", "2001:db8::/32", ""},
		{"2001:db8::1", "2001:db8::1/128", ""},
		{"::ffff:10.0.0.1", "10.0.0.1/32", ""},
		{"::ffff:10.0.0.0/104", "10.0.0.0/8", ""},
		{"::ffff:0:0/96", "0.0.0.0/0", ""},
		{"::ffff:10.0.0.0/90", "", "write the prefix of IPv4, or at least /96"},
		{"10.0.0.1/8", "", "write 10.0.0.0/8"},
		{"::ffff:10.0.0.1/104", "", "write 10.0.0.0/8"},
		{"2001:db8::1/32", "", "write 2001:db8::/32"},
		{"fe80::1%eth0", "", "is not a network"},
		{"10.0.0.0/33", "", "is not a network"},
		{"10.0.0", "", "is not a network"},
		{"", "", "is not a network"},
	} {
		n, err := ParseNetwork(c.text)
		switch {
		case c.problem == "" && (err != nil || n.String() != c.want):
			t.Errorf("%q is %s, %v; want %s", c.text, n, err, c.want)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q is %s, %v; want an error that says %q", c.text, n, err, c.problem)
		}
	}
	if n, err := ParseNetwork("::ffff:192.0.2.1"); err != nil || !n.Contains(netip.MustParseAddr("192.0.2.1")) {
		t.Errorf("%s does not contain the address that it is: %v", n, err)
	}
}

func TestDuration(t *testing.T) {
	var d Duration
	for _, text := range []string{"", "5", "soon", "1m 30s", "5 s"} {
		if err := d.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "write a number and its unit") || d != 0 {
			t.Errorf("%q is %s, %v", text, d, err)
		}
	}
	if err := d.UnmarshalText([]byte("1m30s")); err != nil || d.Or(time.Hour) != 90*time.Second {
		t.Errorf("1m30s is %s, %v", d, err)
	}
	if text, err := d.MarshalText(); err != nil || string(text) != "1m30s" {
		t.Errorf("written as %q, %v", text, err)
	}
	if Duration(0).Or(time.Hour) != time.Hour {
		t.Error("0 is not the other duration")
	}
}

// TestFileHidesItsContent prints a file in every way there is.
func TestFileHidesItsContent(t *testing.T) {
	const secret = "do-not-show-this"
	d := &Document{
		Admin: Admin{TokenFile: FileOf([]byte(secret))},
		Proxy: &Proxy{TLS: &ServerTLS{Cert: FileOf([]byte(secret))}},
	}
	f := d.Admin.TokenFile
	hidden := struct {
		file  File
		admin Admin
	}{f, d.Admin}

	var out bytes.Buffer
	for _, v := range []any{f, &f, d, *d, d.Admin, &d.Admin, *d.Proxy.TLS, hidden, &hidden, []File{f}, map[string]File{"a": f}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%T", "% x", "%#x"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		for _, v := range []any{f, &f, d.Admin, d} {
			text, err := marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(text)
		}
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("a document", "file", f, "pointer", &f, "admin", d.Admin, "document", d, "hidden", hidden)
	}
	if err := d.Validate(); err == nil {
		t.Error("a token is long and a certificate is none: this should not be valid")
	} else {
		fmt.Fprintln(&out, err)
	}
	text := strings.ToLower(out.String())
	asNumbers := strings.Trim(fmt.Sprint([]byte(secret)), "[]")
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("% x", secret), asNumbers, "ZG8tbm90"} {
		if strings.Contains(text, strings.ToLower(form)) {
			t.Errorf("the content is shown, as %q", form)
		}
	}
	if !strings.Contains(text, "(inline)") {
		t.Error("not even the path is shown")
	}
	if f.String() != "(inline)" || f.GoString() != `config.File{Path: "(inline)"}` || fmt.Sprintf("%q", f) != `"(inline)"` {
		t.Errorf("%s, %#v, %q", f, f, f)
	}
	if string(f.Bytes()) != secret || (File{}).Bytes() != nil || (File{}).Given() || !f.Given() {
		t.Error("a file does not hold what it was given")
	}
}
