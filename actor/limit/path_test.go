package limit_test

import (
	"errors"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestParseBucketPath(t *testing.T) {
	for _, tt := range []struct{ path, name, key string }{
		{"login/user:42", "login", "user:42"},
		{"login/ip:2001:db8::/64", "login", "ip:2001:db8::/64"},
		{"login/a%2Fb", "login", "a/b"},
		{"login//a/../b/", "login", "/a/../b/"},
		{"login/a%20b+c", "login", "a b+c"},
		{"lo%67in/%E2%82%AC", "login", "€"},
		{"login/", "login", ""},
	} {
		name, key, err := limit.ParseBucketPath(tt.path)
		if name != tt.name || key != tt.key || err != nil {
			t.Errorf("ParseBucketPath(%q) = %q, %q, %v, want %q, %q", tt.path, name, key, err, tt.name, tt.key)
		}
	}
	for _, path := range []string{"login", "", "%zz/k", "login/%2"} {
		_, _, err := limit.ParseBucketPath(path)
		var fe *limit.FieldError
		if !errors.As(err, &fe) || fe.Field != "path" {
			t.Errorf("ParseBucketPath(%q): %v, want a *FieldError of path", path, err)
		}
	}
}
