package access

import (
	"fmt"
	"strings"
)

// Markdown is the table as docs/security.md shows it.
//
//go:generate go test -run ^TestTheDocumentIsCurrent$ -count=1 . -args -update
func Markdown() string {
	var out strings.Builder
	for _, d := range []struct {
		door  Door
		title string
		needs [Key + 1]string
	}{
		{NodeGRPC, "A node's gRPC port, 7700", [...]string{
			Reach:  "nothing; with certificates, one of them or the key",
			Check:  "nothing; with certificates, one of them or the key",
			Look:   "the key or a token, where the node has a key, certificates or tokens",
			Change: "the key or a token, where the node has a key, certificates or tokens",
			Key:    "the key, where the node has a key or certificates",
		}},
		{NodeHTTP, "A node's HTTP port, 7702", [...]string{
			Reach: "nothing", Check: "nothing; no web page", Look: "on loopback nothing, beyond a token; no web page",
			Change: "a token, but with `--insecure`; no web page", Key: "",
		}},
		{GatewayHTTP, "A gateway's operator port, 7781", [...]string{
			Reach: "nothing", Check: "nothing; no web page elsewhere", Look: "a token, where the document has `admin.token_file`; no web page",
			Change: "a token, where the document has `admin.token_file`; no web page", Key: "",
		}},
		{GatewayGRPC, "A gateway's doors that speak gRPC, 7783", [...]string{
			Reach: "an address in `doors.trusted`", Check: "an address in `doors.trusted`", Look: "", Change: "", Key: "",
		}},
	} {
		fmt.Fprintf(&out, "**%s**\n\n| call | does | takes |\n|---|---|---|\n", d.title)
		for _, e := range Table() {
			if e.Door == d.door {
				fmt.Fprintf(&out, "| `%s` | %s | %s |\n", strings.TrimPrefix(e.Call, "/"), e.Does, d.needs[e.Need])
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}
