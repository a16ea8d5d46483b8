package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb"
)

// Who sends a file in a way that loses its lines is told how to send it.
func TestLimitsThatLostTheirLines(t *testing.T) {
	const (
		form   = "application/x-www-form-urlencoded" // what curl says of all that -d, --data-binary and --data-urlencode send
		single = "the body is a single line, as curl -d makes of a file: send the file as it is, with curl -T limits.yaml or curl -X PUT --data-binary @limits.yaml"
	)
	for _, tt := range []struct {
		how, kind, body string
		says            string // in the error; empty for none
		hint            bool
	}{
		{"-d @limits.yaml", form, "limits:  a:    capacity: 1    refill: 1/s", "is not YAML: mapping values are not allowed", true},
		{"-d @limits.yaml, as limits get printed it", form, "# version 1limits:  a:    capacity: 1", "limits: is empty", true},
		{"-d limits.yaml", form, "limits.yaml", `line 1: is the text "limits.yaml": write a mapping`, true},
		{"--data-urlencode @limits.yaml", form, "limits%3A%0A%20%20a%3A%0A", `line 1: is the text "limits%3A%0A%20%20a%3A%0A": write a mapping`, true},
		{"-T of a single line", "", "limits: a: b", "is not YAML", true},
		{"--data-binary @limits.yaml", form, "limits:\n  a: b: c\n", "line 2: is not YAML", false},
		{"-T limits.yaml", "", "limits:\r\n  a: b: c\r\n", "line 2: is not YAML", false},
		{"-d of JSON", form, `{"limits":{"a":{"capacity":0,"refill":"1/s"}}}`, "capacity", false},
		{"-d of what is not there", form, "", "limits: is empty", false},
		{"-d of one line that is right", form, "limits: {a: {capacity: 1, refill: 1/s}}", "", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/v1/limits", strings.NewReader(tt.body))
		if tt.kind != "" {
			r.Header.Set("Content-Type", tt.kind)
		}
		_, err := askedToApply(r)
		if tt.says == "" {
			if err != nil {
				t.Errorf("curl %s: %v", tt.how, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "document: ") || !strings.Contains(err.Error(), tt.says) || strings.Count(err.Error(), "document") != 1 {
			t.Errorf("curl %s: %v, want %q of the document", tt.how, err, tt.says)
		} else if hint := strings.HasSuffix(err.Error(), ": "+single); hint != tt.hint {
			t.Errorf("curl %s: %v; a hint: %v, want %v", tt.how, err, hint, tt.hint)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/v1/limits", strings.NewReader("--x\r\nContent-Disposition: form-data\r\n\r\nlimits:\r\n--x--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	if _, err := askedToApply(r); err == nil || !strings.Contains(err.Error(), "the body is a form: send the file as it is, with curl -T") {
		t.Errorf("curl -F f=@limits.yaml: %v", err)
	}
}

// The problem says why limits were refused: only where some are left out it is that.
func TestProblemOfRefusedLimits(t *testing.T) {
	left := &pb.ApplyLimitsResponse{Removed: []string{"a"}}
	for _, tt := range []struct {
		code   codes.Code
		change *pb.ApplyLimitsResponse
		name   string
		status int
	}{
		{codes.FailedPrecondition, left, "limits-left-out", http.StatusConflict},
		{codes.FailedPrecondition, nil, "refused", http.StatusConflict},
		{codes.Aborted, nil, "limits-changed", http.StatusPreconditionFailed},
		{codes.Unavailable, nil, "unavailable", http.StatusServiceUnavailable},
	} {
		if p := applyProblem(tt.change, status.Error(tt.code, "why")); p == nil || p.Name != tt.name || p.Status != tt.status || p.Detail != "why" {
			t.Errorf("%v with %v: %+v", tt.code, tt.change.GetRemoved(), p)
		}
	}
	if p := applyProblem(nil, status.Error(codes.InvalidArgument, "why")); p != nil {
		t.Errorf("a wrong document: %+v", p)
	}
}
