package cli

import (
	"strings"
	"testing"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"128MiB": 128 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "200000KiB": 200_000 << 10, "134217728": 128 << 20, "134217729B": 128<<20 + 1,
	} {
		var m, again int64
		if err := (Size{Bytes: &m, Least: LeastMemory}).Set(text); err != nil || m != want {
			t.Errorf("%s: %d, %v; want %d", text, m, err, want)
		}
		if err := (Size{Bytes: &again, Least: LeastMemory}).Set(Size{Bytes: &m}.String()); err != nil || again != m {
			t.Errorf("%s is shown as %s: %v", text, Size{Bytes: &m}, err)
		}
	}
	for text, want := range map[string]string{
		"": `"" is not a number of bytes, such as 512MiB or 4GiB`, "MiB": `"MiB" is not a number`, "-1GiB": "is not a number", "1.5GiB": "is not a number",
		"1GB": "is not a number", "1 GiB": "is not a number", "99999999999TiB": "is not a number", "100MiB": `"100MiB" is too little: at least 128MiB`, "0": "is too little",
	} {
		var m int64
		if err := (Size{Bytes: &m, Least: LeastMemory}).Set(text); err == nil || !strings.Contains(err.Error(), want) || m != 0 {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
