package access

import (
	"fmt"
	"strings"
)

// kinds are what calls need, as docs/threats.md names it.
var kinds = [...]struct{ name, says string }{
	Reach:  {"probe", "whether it lives and is ready, metrics, the way to sign in"},
	Check:  {"check", "decide checks, hold, settle and return; read the limits and the list of nodes"},
	Look:   {"look", "see any bucket and key, overrides, the audit log, profiles; tell what a gateway does"},
	Change: {"change", "fill buckets, replace the limits, set overrides"},
	Key:    {"nodes", "be a node: write and read registers; drain, remove and recover nodes"},
}

// A holder is a caller by what it can show.
type holder struct {
	name        string
	shown       Shown
	certificate bool
}

// may are the kinds of calls that a holder may make at a door, by the table and its rules.
func (h holder) may(at Door, p Port) string {
	var names []string
	for need, kind := range kinds {
		outside := at == NodeGRPC && p.Certificates && !h.certificate && !h.shown.Key // no connection is served
		if !outside && calls(at, Need(need)) > 0 && Need(need).Admits(at, p, h.shown) {
			names = append(names, kind.name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// calls is how many calls of a door need just that.
func calls(at Door, n Need) (count int) {
	for _, e := range Table() {
		if e.Door == at && e.Need == n {
			count++
		}
	}
	return count
}

// Powers is what docs/threats.md shows of the table: who may do what, by what can be shown.
func Powers() string {
	var out strings.Builder
	out.WriteString("| kind | calls at gRPC 7700 | HTTP 7702 | a gateway's 7781 | its doors 7783 | what |\n|---|--:|--:|--:|--:|---|\n")
	for need, kind := range kinds {
		fmt.Fprintf(&out, "| **%s** | %d | %d | %d | %d | %s |\n", kind.name, calls(NodeGRPC, Need(need)), calls(NodeHTTP, Need(need)), calls(GatewayHTTP, Need(need)), calls(GatewayGRPC, Need(need)), kind.says)
	}
	nothing, token := holder{name: "nothing"}, holder{name: "an operator's token", shown: Shown{Token: true}}
	certificate := holder{name: "a certificate", certificate: true}
	both := holder{"a certificate, and a token", Shown{Token: true}, true}
	key := holder{name: "the cluster key", shown: Shown{Key: true, Token: true}} // its holder makes a token of it
	out.WriteString("\n| a node | shown | gRPC 7700 | HTTP 7702 |\n|---|---|---|---|\n")
	for _, s := range []struct {
		name       string
		grpc, http Port
		holders    []holder
	}{
		{"on loopback, with nothing", Port{Tokens: true, Peers: true}, Port{Tokens: true}, []holder{nothing, {name: "the token of the data directory", shown: Shown{Token: true}}}},
		{"on loopback, with a cluster key", Port{Key: true, Tokens: true, Peers: true}, Port{Tokens: true}, []holder{nothing, token, key}},
		{"beyond loopback, with a cluster key", Port{Key: true, Tokens: true, Peers: true}, Port{Tokens: true, Beyond: true}, []holder{nothing, token, key}},
		{"beyond loopback, with a cluster key and certificates", Port{Key: true, Certificates: true, Tokens: true, Peers: true}, Port{Tokens: true, Beyond: true}, []holder{nothing, certificate, token, both, key}},
		{"beyond loopback, with `--insecure` alone", Port{Peers: true}, Port{Beyond: true}, []holder{nothing}},
	} {
		for _, h := range s.holders {
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", s.name, h.name, h.may(NodeGRPC, s.grpc), h.may(NodeHTTP, s.http))
		}
	}
	out.WriteString("\n| a gateway | shown | operator port 7781 |\n|---|---|---|\n")
	for _, s := range []struct {
		name    string
		port    Port
		holders []holder
	}{
		{"on loopback, without `admin.token_file`", Port{}, []holder{nothing}},
		{"with `admin.token_file`", Port{Tokens: true, Beyond: true}, []holder{nothing, {name: "a token of that file", shown: Shown{Token: true}}}},
	} {
		for _, h := range s.holders {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", s.name, h.name, h.may(GatewayHTTP, s.port))
		}
	}
	return out.String()
}
