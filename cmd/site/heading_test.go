package main

import "testing"

func TestHeadingsAreNamedAsOnGitHub(t *testing.T) {
	taken := ids{}
	for _, tt := range []struct{ text, want string }{
		{"What it can do, and what not", "what-it-can-do-and-what-not"},
		{"routes[].checks[].choose.when[]", "routescheckschoosewhen"},
		{"POST /v1/check", "post-v1check"},
		{"Go and gRPC", "go-and-grpc"},
		{"What a crash may cost", "what-a-crash-may-cost"},
		{"What a crash may cost", "what-a-crash-may-cost-1"},
		{"What a crash may cost 1", "what-a-crash-may-cost-1-1"},
		{"on_unavailable: allow – or deny", "on_unavailable-allow--or-deny"},
		{"Ein Schlüssel", "ein-schlüssel"},
		{"429?", "429"},
		{"!", "section"},
		{"?", "section-1"},
	} {
		if got := taken.next(tt.text); got != tt.want {
			t.Errorf("%q is #%s, want #%s", tt.text, got, tt.want)
		}
	}
}
