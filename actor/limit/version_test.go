package limit

import "testing"

// The version that a document was made from stands among the comments above its limits.
func TestCutVersion(t *testing.T) {
	for text, want := range map[string]struct {
		rest    string
		version uint64
		line    int
	}{
		"# version 4\nlimits: {}\n":                           {"limits: {}\n", 4, 1},
		"# version 4\r\nlimits: {}\r\n":                       {"limits: {}\r\n", 4, 1},
		"\n# version 4\nlimits: {}\n":                         {"\nlimits: {}\n", 4, 2},
		"# ours\n\n  # version 4 \nlimits: {}\n":              {"# ours\n\nlimits: {}\n", 4, 3},
		"---\n# version 4\nlimits: {}\n":                      {"---\nlimits: {}\n", 4, 2},
		"\uFEFF# version 4\nlimits: {}\n":                     {"limits: {}\n", 4, 1},
		"# version 4\n# version 5\nlimits: {}\n":              {"limits: {}\n", 4, 1},
		"# version 99999999999999999999999\nlimits: {}\n":     {"limits: {}\n", 1<<64 - 1, 1},
		"limits: {}\n# version 4\n":                           {"limits: {}\n# version 4\n", 0, 0},
		"# version 4":                                         {"", 4, 1},
		"# version 4 of ours\nlimits: {}":                     {"# version 4 of ours\nlimits: {}", 0, 0},
		"# versions 4\n# version one\n#version 4\nlimits: {}": {"# versions 4\n# version one\n#version 4\nlimits: {}", 0, 0},
		"": {"", 0, 0},
	} {
		rest, version, line := CutVersion([]byte(text))
		if string(rest) != want.rest || version != want.version || line != want.line {
			t.Errorf("of %q: %q, version %d in line %d; want %+v", text, rest, version, line, want)
		}
	}
}
