package consensus

import "testing"

func TestLogEnds(t *testing.T) {
	for _, c := range []struct {
		a, b  LogEnd
		after bool
	}{
		{LogEnd{0, 2, 5}, LogEnd{0, 2, 5}, false},
		{LogEnd{0, 2, 6}, LogEnd{0, 2, 5}, true},
		{LogEnd{0, 3, 4}, LogEnd{0, 2, 5}, true}, // what of term 2 stands behind entry 4 was never agreed
		{LogEnd{0, 2, 5}, LogEnd{0, 3, 4}, false},
		{LogEnd{1, 2, 1}, LogEnd{0, 3, 400}, true}, // which the recovery has passed over
		{LogEnd{1, 3, 400}, LogEnd{2, 1, 1}, false},
	} {
		if c.a.After(c.b) != c.after {
			t.Errorf("%s after %s: %v", c.a, c.b, !c.after)
		}
	}
}
