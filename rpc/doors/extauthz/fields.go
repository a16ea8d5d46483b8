package extauthz

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/jeton-dev/jeton/internal/alias"
)

const (
	// maxHeader bounds the bytes of the header with the method, host and path: as much as the forward-auth listener of a gateway takes.
	maxHeader = 128 << 10
	// maxLines bounds the lines of the header.
	maxLines = 1000
	// perLine is what a line takes besides its name and value.
	perLine = 4
)

// replaced are headers of which the attributes say the truth. What the client says there is left out.
var replaced = []string{
	"Host", "X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Proto", "X-Forwarded-Uri", "X-Original-Method", "X-Original-Uri", "X-Original-Url",
}

// misleading are headers from which some services take another method or target than those of the request, which the gateway has
// judged, and those that a gateway and its proxy use between them. The proxy is told to remove them.
var misleading = []string{
	"X-Forwarded-Method", "X-Forwarded-Uri", "X-Jeton-Decision", "X-Jeton-Denial", "X-Original-Method", "X-Original-Uri", "X-Original-Url", "X-Rewrite-Url",
}

// fields are the headers of a request while they are read.
type fields struct {
	header   http.Header
	doubtful []string
	lines    int
	room     int // bytes
}

// read reads the headers of a request, from header_map or from headers.
func (f *fields) read(h *authv3.AttributeContext_HttpRequest) error {
	raw, merged := h.GetHeaderMap().GetHeaders(), h.GetHeaders()
	switch {
	case len(raw) > 0 && len(merged) > 0:
		return fmt.Errorf("attributes.request.http: headers and header_map are both there: send one")
	case f.room < 0, len(raw)+len(merged) > maxLines:
		return tooLarge()
	}
	for _, v := range raw {
		value := v.GetValue()
		if len(v.GetRawValue()) > 0 {
			value = string(v.GetRawValue())
		}
		if err := f.addRaw(v.GetKey(), value, h); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if isPseudo(name) {
			continue
		}
		for rest, more := merged[name], true; more; {
			var value string
			value, rest, more = unmerge(rest)
			if err := f.add(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmerge takes the first line off a value of headers, in which Envoy merges lines with the same name by a comma and nothing else. A
// gateway refuses a request whose lines contradict each other, for example about the API key, and has to see them. Where a comma
// without a space stood in a line of its own, the lines mean the same (RFC 9110, section 5.2).
func unmerge(merged string) (line, rest string, more bool) {
	for i := range len(merged) {
		if merged[i] == ',' && (i+1 == len(merged) || merged[i+1] != ' ' && merged[i+1] != '\t') {
			return merged[:i], merged[i+1:], true
		}
	}
	return merged, "", false
}

// isPseudo says whether this is the name of a pseudo-header, such as :path. The attributes have what they say.
func isPseudo(name string) bool { return strings.HasPrefix(name, ":") }

// addRaw adds one line of header_map. There, pseudo-headers have the bytes that the upstream gets; in the attributes, Envoy has put an
// exclamation mark for what is no UTF-8. The handler would judge another path than the upstream gets.
func (f *fields) addRaw(name, value string, h *authv3.AttributeContext_HttpRequest) error {
	switch {
	case name == ":path" && value != h.GetPath(), name == ":method" && value != h.GetMethod(), name == ":authority" && value != h.GetHost():
		return &refusal{http.StatusBadRequest, "the request line is ambiguous: send it in UTF-8"}
	case isPseudo(name):
		return nil
	}
	return f.add(name, value)
}

// add adds one line.
func (f *fields) add(name, value string) error {
	f.lines++
	if f.room -= len(name) + len(value) + perLine; f.room < 0 || f.lines > maxLines {
		return tooLarge()
	}
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return &refusal{http.StatusBadRequest, fmt.Sprintf("%.64q is not the name of a header", name)}
	case !httpguts.ValidHeaderFieldValue(value):
		return &refusal{http.StatusBadRequest, fmt.Sprintf("the header %.64s has control characters", name)}
	}
	canonical := http.CanonicalHeaderKey(name)
	if slices.Contains(misleading, alias.Header(canonical)) && !slices.Contains(f.doubtful, name) {
		f.doubtful = append(f.doubtful, name)
	}
	if !slices.Contains(replaced, canonical) {
		f.header[canonical] = append(f.header[canonical], value)
	}
	return nil
}

// tooLarge refuses a request whose header is too large.
func tooLarge() error {
	return &refusal{
		http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the header is too large: at most %d lines and %d bytes can be judged", maxLines, maxHeader),
	}
}
