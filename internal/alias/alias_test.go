package alias_test

import (
	"testing"

	"github.com/jeton-dev/jeton/internal/alias"
)

func TestHeader(t *testing.T) {
	for name, want := range map[string]string{
		"X-User": "X-User", "X_User": "X-User", "X.User": "X-User", "X~uSER": "X-User", "X-Api_Key": "X-Api-Key", "X_api.key": "X-Api-Key",
		"Accept": "Accept", "": "", "_": "-", "X--User": "X--User", "X.1": "X-1",
	} {
		if got := alias.Header(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { alias.Header("X-Forwarded-For") }); n > 0 {
		t.Errorf("a usual name takes %v allocations", n)
	}
}

func TestParameter(t *testing.T) {
	for _, called := range []string{
		"api_key", "api.key", "api key", "API_Key", " api_key", "  api.key", "api[key", "api_key[]", "api_key[a][b]", "api_key[", "api_key\x00", "api_key\x00x", "[api_key]", "api_key]", "[[api_key", "[]api_key",
	} {
		if !alias.Parameter(called, "api_key") {
			t.Errorf("%q is not taken for api_key", called)
		}
	}
	for _, called := range []string{"", "api", "api_keys", "api-key", "api[key]", "x[api_key]", "xapi_key", "\x00api_key", "api_ke"} {
		if alias.Parameter(called, "api_key") {
			t.Errorf("%q is taken for api_key", called)
		}
	}
	for called, is := range map[string]bool{"sid": true, "sid[0]": true, "[sid]": true, "SID": false, "sid.x": false, "sids": false} {
		if alias.Cookie(called, "sid") != is {
			t.Errorf("the cookie %q is taken for sid: %v", called, !is)
		}
	}
	if !alias.Parameter("a_b", "a.b") || !alias.Parameter("", "") {
		t.Error("a name is not taken for itself as a variable")
	}
}
