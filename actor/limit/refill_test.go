package limit_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestParseRefill(t *testing.T) {
	for _, c := range []struct {
		in        string
		want      limit.Refill
		canonical string
	}{
		{"5/s", limit.Refill{Tokens: 5, Per: time.Second}, "5/s"},
		{"5/1s", limit.Refill{Tokens: 5, Per: time.Second}, "5/s"},
		{"05/01s", limit.Refill{Tokens: 5, Per: time.Second}, "5/s"},
		{"100/1m", limit.Refill{Tokens: 100, Per: time.Minute}, "100/m"},
		{"100/60s", limit.Refill{Tokens: 100, Per: time.Minute}, "100/m"},
		{"5000/1h", limit.Refill{Tokens: 5000, Per: time.Hour}, "5000/h"},
		{"1/1.5s", limit.Refill{Tokens: 1, Per: 1500 * time.Millisecond}, "1/1.5s"},
		{"1/.5s", limit.Refill{Tokens: 1, Per: 500 * time.Millisecond}, "1/500ms"},
		{"3/ms", limit.Refill{Tokens: 3, Per: time.Millisecond}, "3/ms"},
		{"3/us", limit.Refill{Tokens: 3, Per: time.Microsecond}, "3/µs"},
		{"3/µs", limit.Refill{Tokens: 3, Per: time.Microsecond}, "3/µs"},
		{"1/ns", limit.Refill{Tokens: 1, Per: 1}, "1/ns"},
		{"1000000000/s", limit.Refill{Tokens: 1e9, Per: time.Second}, "1000000000/s"},
		{"10/10s", limit.Refill{Tokens: 10, Per: 10 * time.Second}, "10/10s"},
		{"1/10m", limit.Refill{Tokens: 1, Per: 10 * time.Minute}, "1/10m"},
		{"1/20h", limit.Refill{Tokens: 1, Per: 20 * time.Hour}, "1/20h"},
		{"1/90m", limit.Refill{Tokens: 1, Per: 90 * time.Minute}, "1/1h30m"},
		{"1/1h0m30s", limit.Refill{Tokens: 1, Per: time.Hour + 30*time.Second}, "1/1h0m30s"},
		{"1/11s", limit.Refill{Tokens: 1, Per: 11 * time.Second}, "1/11s"},
		{"1/2562047h47m16.854775807s", limit.Refill{Tokens: 1, Per: 1<<63 - 1}, "1/2562047h47m16.854775807s"},
		{
			"9223372036854775807/2562047h47m16.854775807s",
			limit.Refill{Tokens: 1<<63 - 1, Per: 1<<63 - 1},
			"9223372036854775807/2562047h47m16.854775807s",
		},
	} {
		t.Run(c.in, func(t *testing.T) {
			got, err := limit.ParseRefill(c.in)
			if err != nil || got != c.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, c.want)
			}
			if got.String() != c.canonical {
				t.Errorf("canonical form %q, want %q", got, c.canonical)
			}
			if again, err := limit.ParseRefill(got.String()); err != nil || again != got {
				t.Errorf("%q reads back as %+v, %v", got, again, err)
			}
		})
	}
}

func TestParseRefillInvalid(t *testing.T) {
	const form, number, unit, few, short, fast = "n/duration, such as 5/s", "a whole number up to 9223372036854775807, as in 5/s",
		"a duration, such as s, 1m, 1.5s or 24h", "at least 1, as in 1/1h", "above 0, as in 1/s", "at most 1000000000 tokens a second"
	for in, fix := range map[string]string{
		"":                                      form,
		"abc":                                   form,
		"5":                                     form,
		"/s":                                    number,
		"/":                                     number,
		"s/5":                                   number,
		"1.5/s":                                 number,
		"1e3/s":                                 number,
		"0x10/s":                                number,
		"1_000/s":                               number,
		" 5/s":                                  number,
		"5 /s":                                  number,
		"9223372036854775808/s":                 number,
		"99999999999999999999999999999999/s":    number,
		"5/":                                    unit,
		"5/ s":                                  unit,
		"5/s ":                                  unit,
		"5/1":                                   unit,
		"5/d":                                   unit,
		"5/sec":                                 unit,
		"5/.":                                   unit,
		"5/-":                                   unit,
		"5/-s":                                  unit,
		"5/.s":                                  unit,
		"5/s/s":                                 unit,
		"5/h30m":                                unit,
		"5/1s1":                                 unit,
		"5/9223372036854775808ns":               unit,
		"5/2562048h":                            unit,
		"5/99999999999999999999999999999999999": unit,
		"0/s":                                   few,
		"-1/s":                                  few,
		"-9223372036854775808/s":                few,
		"1/0s":                                  short,
		"1/0":                                   short,
		"1/-1s":                                 short,
		"1/0.3ns":                               short,
		"1000000001/s":                          fast,
		"2/1ns":                                 fast,
		"9223372036854775807/s":                 fast,
	} {
		t.Run(in, func(t *testing.T) {
			got, err := limit.ParseRefill(in)
			wantFieldError(t, err, "refill", fix)
			if got != (limit.Refill{}) {
				t.Errorf("an error comes with the refill %+v", got)
			}
		})
	}
}

func TestRefillText(t *testing.T) {
	r := limit.Refill{Tokens: 3, Per: 2 * time.Second}
	text, err := r.MarshalText()
	if err != nil || string(text) != "3/2s" {
		t.Fatalf("got %s, %v, want 3/2s", text, err)
	}
	if err := r.UnmarshalText([]byte("7/h")); err != nil || r != (limit.Refill{Tokens: 7, Per: time.Hour}) {
		t.Fatalf("got %+v, %v, want 7/h", r, err)
	}
	wantFieldError(t, r.UnmarshalText([]byte("0/s")), "refill", "at least 1")
	if r != (limit.Refill{Tokens: 7, Per: time.Hour}) {
		t.Errorf("an error changed the refill to %v", r)
	}
}

func TestRefillPerSecond(t *testing.T) {
	for in, want := range map[string]float64{"5/s": 5, "30/m": 0.5, "700000000/s": 7e8, "1/ns": 1e9} {
		r, err := limit.ParseRefill(in)
		if err != nil || r.PerSecond() != want {
			t.Errorf("%s: %v tokens a second, %v, want %v", in, r.PerSecond(), err, want)
		}
	}
}

func FuzzParseRefill(f *testing.F) {
	for _, seed := range []string{
		"5/s", "100/1m", "5000/1h", "1/1.5s", "3/µs", "1/ns", "1/1h0m30s", "0/s", "1/0s", "-1/s", "abc", "/", "5/h30m",
		"9223372036854775807/2562047h47m16.854775807s", "9223372036854775808/s", "1/.000000001s", "+5/+1s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := limit.ParseRefill(s)
		if err != nil {
			wantFieldError(t, err, "refill", "")
			return
		}
		if r.Tokens < 1 || r.Per < 1 || r.Tokens > int64(r.Per) {
			t.Fatalf("%q reads as %+v, which is out of range", s, r)
		}
		again, err := limit.ParseRefill(r.String())
		if err != nil || again != r {
			t.Fatalf("%q reads as %+v, whose form %q reads as %+v, %v", s, r, r, again, err)
		}
	})
}
