package bound

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// FuzzLabel makes a metric with any label.
func FuzzLabel(f *testing.F) {
	for _, text := range []string{"", "a:7700", "\xff", "a\xffb\xfe", strings.Repeat("é", 100), "x" + strings.Repeat("\xf0\x9f\x98\x80", 64), strings.Repeat("\xff", 300)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		label := Label(text)
		prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "a", Help: "b"}, []string{"c"}).WithLabelValues(label).Set(1)
		if len(label) > 3*maxLabel {
			t.Errorf("%q has %d bytes", label, len(label))
		}
		if len(text) <= maxLabel && utf8.ValidString(text) && label != text {
			t.Errorf("%q became %q", text, label)
		}
	})
}
