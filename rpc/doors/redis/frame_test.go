package redis

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

func TestMeasure(t *testing.T) {
	big := strings.Repeat("x", maxFrame)
	for _, tt := range []struct {
		in  string
		end int
		err string
	}{
		{"", 0, ""},
		{"*1\r\n$4\r\nPING\r\n", 14, ""},
		{"*1\r\n$4\r\nPING\r\n*1\r\n", 14, ""},
		{"*1\r\n$4\r\nPING\r", 0, ""},
		{"*1\r\n$4\r", 0, ""},
		{"*2\r\n$0\r\n\r\n$1\r\na\r\n", 17, ""},
		{"*0\r\n", 4, ""},
		{"*-1\r\n", 5, ""},
		{"PING\r\n", 6, ""},
		{"PING\n*1", 5, ""},
		{"PING", 0, ""},
		{"\r\n", 2, ""},
		{strings.Repeat("a", maxLine), 0, ""},
		{strings.Repeat("a", maxLine+1), 0, "too big inline request"},
		{strings.Repeat("a", maxLine) + "\n", 0, "too big inline request"},
		{"*1000000\r\n", 0, "invalid multibulk length"},
		{"*1025\r\n", 0, "invalid multibulk length"},
		{"*9223372036854775808\r\n", 0, "invalid multibulk length"},
		{"*" + strings.Repeat("1", 40), 0, "invalid multibulk length"},
		{"*\r\n", 0, "invalid multibulk length"},
		{"*+1\r\n", 0, "invalid multibulk length"},
		{"*x\r\n", 0, "invalid multibulk length"},
		{"*1\n$4\r\nPING\r\n", 0, "invalid multibulk length"},
		{"*1\r\n$536870912\r\n", 0, "invalid bulk length"},
		{"*1\r\n$9223372036854775807\r\n", 0, "invalid bulk length"},
		{"*1\r\n$-1\r\n", 0, "invalid bulk length"},
		{"*1\r\n$-2\r\n", 0, "invalid bulk length"},
		{"*1\r\n$1\n", 0, "invalid bulk length"},
		{"*1\r\nPING\r\n", 0, "expected '$', got 'P'"},
		{"*1\r\n$1\r\nab\r\n", 0, "longer than its length"},
		{"$4 PING\r\n", 0, "expected '*', got '$'"},
		{"*2\r\n$4\r\nECHO\r\n$1048551\r\n", 0, "invalid bulk length"},
		{"*2\r\n$4\r\nECHO\r\n$1048550\r\n" + big[:1048550] + "\r\n", maxFrame, ""},
	} {
		shown := tt.in[:min(len(tt.in), 40)]
		end, err := (&measure{}).end([]byte(tt.in), maxFrame)
		if end != tt.end || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %d, %v, want %d, %q", shown, end, err, tt.end, tt.err)
		}
		// It makes no difference in which pieces the bytes come.
		m := measure{}
		for n := range min(len(tt.in), 100) {
			if end, err := m.end([]byte(tt.in[:n]), maxFrame); err != nil || end > 0 {
				if (err == nil) != (tt.err == "") || end != tt.end {
					t.Errorf("%q, byte by byte: %d, %v after %d", shown, end, err, n)
				}
				break
			}
		}
	}
}

// What is measured as a whole command is parsed as one, to its end, and the parser is asked nothing that it panics at.
func FuzzMeasure(f *testing.F) {
	for _, seed := range []string{
		"*1\r\n$4\r\nPING\r\n", "*2\r\n$0\r\n\r\n$1\r\na\r\n", "PING \"a\\n b\" 'c'\r\n", "*0\r\n", "*-1\r\n", "*1\r\n$-2\r\n", "$4 PING\r\n", "\r\n", "\"\r\n", "a \"b\"c\n",
		"*1\r\n$9223372036854775807\r\n", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		whole := measure{}
		end, err := whole.end(in, maxFrame)
		if end < 0 || end > len(in) || err != nil && end != 0 {
			t.Fatalf("%q: %d, %v", in, end, err)
		}
		if cut > 0 && cut < len(in) {
			m := measure{}
			first, early := m.end(in[:cut], maxFrame)
			if first == 0 && early == nil {
				first, early = m.end(in, maxFrame)
			}
			if first != end || (early == nil) != (err == nil) {
				t.Fatalf("%q: in two pieces %d, %v, at once %d, %v", in, first, early, end, err)
			}
		}
		if end == 0 {
			return
		}
		complete, args, kind, rest, err := redcon.ReadNextCommand(in[:end], nil)
		if err == nil && (!complete || len(rest) > 0) {
			t.Fatalf("%q: the parser leaves %q", in[:end], rest)
		}
		if err != nil && in[0] == '*' && !bytes.HasPrefix(in, []byte("*-")) {
			t.Fatalf("%q: the parser refuses what was measured: %v", in[:end], err)
		}
		if kind == redcon.Redis && err == nil && len(args) > maxArgs {
			t.Fatalf("%d arguments", len(args))
		}
	})
}
