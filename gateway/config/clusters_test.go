package config

import "testing"

// What is shown of a limit leads back to it, at its own cluster alone.
func TestLimitShown(t *testing.T) {
	for _, of := range []string{"", "eu", "us"} {
		for _, by := range []string{"", "eu", "us"} {
			if limit, known := LimitShown(by, ShownLimit(of, "login")); known != (of == by) || known && limit != "login" {
				t.Errorf("a limit of %q is %q at %q: %v", of, limit, by, known)
			}
		}
	}
}
