package build

import "testing"

// A page is that of the tag of a release, and of main for all other builds.
func TestPage(t *testing.T) {
	for version, at := range map[string]string{
		"v0.1.0": "v0.1.0", "v1.22.333": "v1.22.333", "v0.2.0-rc.1": "v0.2.0-rc.1",
		"(devel)": "main", "": "main", "v0.1.0+dirty": "main", "v0.1.1-0.20261128050607-c0ffee123456": "main", "v0.1.0-dev.c0ffee1": "main",
	} {
		if got, want := pageAt(version, "a.md#b"), "https://github.com/jeton-dev/jeton/blob/"+at+"/docs/a.md#b"; got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
	t.Cleanup(func() { version = "" })
	version = "v0.3.0"
	if got, want := Page("a.md"), "https://github.com/jeton-dev/jeton/blob/v0.3.0/docs/a.md"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
