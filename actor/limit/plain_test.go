package limit

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// same says whether two documents have the same limits.
func same(a, b *Document) bool {
	x, errX := a.YAML()
	y, errY := b.YAML()
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func TestWhatIsPlain(t *testing.T) {
	for text, plain := range map[string]bool{
		"limits:\n  a:\n    capacity: 1\n    refill: 1/s\n":                                          true,
		"# all\n\nlimits: # these\n    a: # one\n      refill: 1/1.5s # slow\n      capacity: 1\r\n": true,
		"limits:\n a:\n  capacity: 1\n  refill: 5/µs\n b:\n    capacity: 2\n    refill: 1/s":         true,
		"limits:\n": false, // wrong
		"":          false,
		"limits: {a: {capacity: 1, refill: 1/s}}":                                   false,
		"limits:\n  \"a\":\n    capacity: 1\n    refill: 1/s\n":                     false,
		"limits:\n  a:\n    capacity: 1\n    capacity: 1\n    refill: 1/s\n":        false, // wrong
		"limits:\n  a:\n    capacity: 1\n    refill: 1/s\n  a:\n    capacity: 1\n":  false, // wrong
		"limits:\n  a:\n    capacity: 1\n    refill: 1/s\nlimits:\n":                false, // wrong
		"limits:\n  a:\n    capacity: 1\n      refill: 1/s\n":                       false,
		"limits:\n  a:\n    refill:\n      1/s\n    capacity: 1\n":                  false,
		"limits:\n  a:\n\tcapacity: 1\n":                                            false,
		"---\nlimits:\n":                                                            false,
		"limits:\n  a: &x\n    capacity: 1\n    refill: 1/s\n":                      false,
		"limits:\n  a:\n    capacity: 1\n    refill: 1/s\n   b:\n    capacity: 1\n": false,
		"limits:\n  a:\n    capacity: 0\n    refill: 1/s\n":                         false, // wrong
		"limits:\n  a:\n    capacity: 1#\n    refill: 1/s\n":                        false, // wrong
		"# größer\nlimits:\n":                                                       false, // wrong
		"limits: #\x02\n":                                                           false, // wrong
		"limits: # a\rb: 1\n":                                                       false, // in YAML the line ends in its middle
		"limits: # a\u2028b: 1\n":                                                   false, // and here
		"\ufeffx: 1\nlimits: # \xff\n":                                              false, // wrong
		"limits: # \xff\n":                                                          false, // wrong
	} {
		doc, ok := parsePlain(text)
		if ok != plain {
			t.Errorf("%q is plain: %v, want %v", text, ok, plain)
		}
		if slow, err := parseYAML([]byte(text)); ok && (err != nil || !same(doc, slow)) {
			t.Errorf("%q is read as %v, and as YAML as %v, %v", text, doc, slow, err)
		}
	}
}

// What is read line by line is what YAML means by it.
func FuzzPlain(f *testing.F) {
	f.Add("limits:\n  a:\n    capacity: 1\n    refill: 1/s # x\n  b:\n    algorithm: token-bucket\n    capacity: 010\n    refill: 1/1m\n    on_unavailable: deny\n")
	f.Add("limits:\n  0x1:\n    capacity: 1\n    refill: 5/µs\n\n#\n")
	f.Add("limits:\n  a:\n    algorithm: fixed-window\n    limit: 7\n    window: 90s\n  b:\n    algorithm: fixed-window\n    limit: 7\n    per: month\n    timezone: Europe/Berlin\n    anchor: 015\n")
	f.Add("limits:\n  a:\n    capacity: 40\n    refill: 1/s\n    reserve: 5%\n  b:\n    capacity: 1\n    refill: 1/s\n    reserve: exact\n")
	f.Add("limits: # ö\x02\r\u2028\xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		doc, ok := parsePlain(text)
		if !ok {
			return
		}
		slow, err := parseYAML([]byte(text))
		if err != nil || !same(doc, slow) {
			t.Fatalf("%q is plain, and as YAML it is %v, %v", text, slow, err)
		}
		out, _ := doc.YAML()
		if again, err := parseYAML(out); err != nil || !same(doc, again) {
			t.Fatalf("%s is read back as %v, %v", out, again, err)
		}
	})
}

// bigDocument has many limits.
func bigDocument(n int) []byte {
	var text strings.Builder
	text.WriteString("limits:\n")
	for i := range n {
		fmt.Fprintf(&text, "  tenant-%06d:\n    capacity: %d\n    refill: %d/s\n    on_unavailable: deny\n", i, 100+i, 1+i%50)
	}
	return []byte(text.String())
}

// TestAHundredThousandLimits bounds what reading and writing a large document allocates: a node does both several times when it
// starts.
func TestAHundredThousandLimits(t *testing.T) {
	const maxRead, maxWritten = 104 << 20, 64 << 20 // bytes, of ten times what may be put in force; the parser and the encoder of YAML take 200 MB and 1.5 GB
	text := bigDocument(100_000)
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	start := allocated()
	doc, err := ParseDocument(text)
	if err != nil || len(doc.names) != 100_000 {
		t.Fatal(err)
	}
	read := allocated()
	out, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	written := allocated()
	if read-start > maxRead || written-read > maxWritten {
		t.Errorf("reading %d bytes allocates %d MB, writing %d bytes %d MB", len(text), (read-start)>>20, len(out), (written-read)>>20)
	}
	t.Logf("reading allocates %d MB, writing %d MB", (read-start)>>20, (written-read)>>20)
}
