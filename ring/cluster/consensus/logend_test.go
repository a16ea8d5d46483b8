package consensus

import "testing"

func TestLogEnds(t *testing.T) {
	for _, c := range []struct {
		a, b  LogEnd
		after bool
	}{
		{LogEnd{2, 5}, LogEnd{2, 5}, false},
		{LogEnd{2, 6}, LogEnd{2, 5}, true},
		{LogEnd{3, 4}, LogEnd{2, 5}, true}, // what of term 2 stands behind entry 4 was never agreed
		{LogEnd{2, 5}, LogEnd{3, 4}, false},
	} {
		if c.a.After(c.b) != c.after {
			t.Errorf("%s after %s: %v", c.a, c.b, !c.after)
		}
	}
}
