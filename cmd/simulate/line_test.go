package simulate

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// parsing is a reader of its own.
func parsing(t *testing.T, f Fields) *reader {
	t.Helper()
	key, err := parseTemplate(f.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &reader{fields: f, key: key, keys: &intern{ids: map[string]int32{}}, tally: &Tally{}}
}

func TestLines(t *testing.T) {
	const at = int64(1_791_633_336_000_000_000) // 2026-10-10T11:55:36Z
	const common = `192.0.2.7 - alice [10/Oct/2026:13:55:36 +0200] "GET /a%20b?c=d HTTP/1.1" 200 2326`
	for _, tt := range []struct {
		fields Fields
		line   string
		want   check
		key    string
	}{
		{Fields{}, common, check{at: at, cost: 1}, "192.0.2.7"},
		{Fields{Key: "{user}|{method}|{path}|{query}|{protocol}|{status}"}, common, check{at: at, cost: 1}, "alice|GET|/a%20b|c=d|HTTP/1.1|200"},
		{Fields{Key: "{referer}|{agent}", Cost: "bytes"}, common + ` "http://x/\"y\"" "curl 8" 0.003`, check{at: at, cost: 2326}, `http://x/\"y\"|curl 8`},
		{Fields{Cost: "bytes"}, `::1 - - [10/Oct/2026:11:55:36 +0000] "-" 408 -`, check{at: at, cost: 1}, "::1"},
		{Fields{Cost: "7"}, `{"key":"a","time":"2026-10-10T13:55:36+02:00","cost":3}`, check{at: at, cost: 7}, "a"},
		{Fields{}, "\ufeff  {\"key\":7,\"timestamp\":\"2026-10-10 11:55:36Z\",\"cost\":\"3\"} \r\n", check{at: at, cost: 3}, "7"},
		{Fields{}, `{"key":true,"ts":1791633336.000000001,"cost":0}`, check{at: at + 1, cost: 0}, "true"},
		{Fields{}, `{"key":"a","@timestamp":"1791633336000"}`, check{at: at, cost: 1}, "a"},
		{Fields{}, `{"key":"a","time":1791633336000000}`, check{at: at, cost: 1}, "a"},
		{Fields{}, `{"key":"a","time":1791633336000000000}`, check{at: at, cost: 1}, "a"},
		{Fields{Time: []string{"no", "at.x"}, Key: "{u.i.d}-{a.b}", Cost: "n.c"}, `{"u":{"i":{"d":"z"}},"a.b":"flat","a":{"b":"nested"},"at":{"x":1791633336},"n":{"c":4}}`, check{at: at, cost: 4}, "z-flat"},
	} {
		r := parsing(t, tt.fields)
		got, err := r.parse(trimmed([]byte(tt.line)))
		if err != nil || got != tt.want || r.keys.names[0] != tt.key {
			t.Errorf("%s\nis %+v of %q, want %+v of %q: %v", tt.line, got, r.keys.names, tt.want, tt.key, err)
		}
	}
}

func TestLinesThatAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		fields     Fields
		line, want string
		keyless    bool
	}{
		{Fields{}, `hello`, "is neither a JSON object nor a line of an access log", false},
		{Fields{}, `a - - [10/Oct/2026:13:55:36 +0200] GET 200 1`, "is neither a JSON object nor a line of an access log", false},
		{Fields{}, `a - - [10/Oct/2026:13:55:36 +0200] "GET 200 1`, "is neither", false},
		{Fields{}, `a - - [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" OK 1`, "is neither", false},
		{Fields{}, `a  - [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 1`, "is neither", false},
		{Fields{}, `a - - [32/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 1`, "is no time such as 10/Oct/2026:13:55:36 +0200", false},
		{Fields{}, `a - - [10/Oct/1926:13:55:36 +0200] "GET / HTTP/1.1" 200 1`, "is not between 1970 and 2100", false},
		{Fields{Key: "{ip}"}, `a - - [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 1`, "ip: an access log has no such field: use addr, ident, user", false},
		{Fields{Key: "{user}"}, `a - - [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 1`, "has no user for the key", true},
		{Fields{}, `{"key":"a","time":1`, "is no JSON object: unexpected end", false},
		{Fields{}, `{"key":"a","time":1790000000} x`, "is no JSON object: invalid character", false},
		{Fields{}, `{"key":"a","when":1790000000}`, `has no field time, timestamp, ts, @timestamp: --time names the field with the time; there are "key, when"`, false},
		{Fields{}, `{"key":"a","time":{"s":1}}`, "time: is an object or a list: name a field of it, such as time.id", false},
		{Fields{}, `{"key":"a","time":"2026-10-10T13:55:36"}`, `time: "2026-10-10T13:55:36" is no time: use one with a zone`, false},
		{Fields{}, `{"key":"a","time":"yesterday"}`, "is no time", false},
		{Fields{}, `{"key":"a","time":1e9}`, "is no time", false},
		{Fields{}, `{"key":"a","time":17.9e8}`, "is no time", false},
		{Fields{}, `{"key":"a","time":0}`, "is not between 1970 and 2100", false},
		{Fields{}, `{"key":"a","time":-5}`, "is not between 1970 and 2100", false},
		{Fields{}, `{"key":"a","time":9223372036854775807}`, "is not between 1970 and 2100", false},
		{Fields{}, `{"key":"a","time":92233720368547758070}`, "is no time", false},
		{Fields{}, `{"key":"a","time":"2150-01-01T00:00:00Z"}`, "is not between 1970 and 2100", false},
		{Fields{}, `{"key":"a","time":1790000000,"cost":-1}`, `cost: "-1" is no cost`, false},
		{Fields{}, `{"key":"a","time":1790000000,"cost":1.5}`, `cost: "1.5" is no cost: use a whole number of tokens`, false},
		{Fields{}, `{"key":["a"],"time":1790000000}`, "key: is an object or a list", false},
		{Fields{}, `{"key":null,"time":1790000000}`, "has no key for the key", true},
		{Fields{}, `{"key":"","time":1790000000}`, "has no key for the key", true},
		{Fields{}, `{"key":"` + strings.Repeat("k", 513) + `","time":1790000000}`, "key: 513 bytes are too many", false},
		{Fields{}, "\xff - - [10/Oct/2026:13:55:36 +0200] \"GET / HTTP/1.1\" 200 1", "key: is not valid UTF-8", false},
	} {
		r := parsing(t, tt.fields)
		_, err := r.parse([]byte(tt.line))
		why, is := err.(*lineError) //nolint:errorlint // parse promises this type
		if !is || !strings.Contains(why.text, tt.want) {
			t.Errorf("%s\nis %v, want %q", tt.line, err, tt.want)
			continue
		}
		*why.kind(r.tally)++
		if *why.kind(r.tally) != 1 || (r.tally.WithoutKey == 1) != tt.keyless {
			t.Errorf("%s\ncounts as %+v", tt.line, r.tally)
		}
	}
}

// Checks come out in the order of time as long as they stand within the bound, of one time as they stand; others are left out.
func TestOrder(t *testing.T) {
	var text strings.Builder
	fmt.Fprintln(&text, `{"time":1790000900,"key":"first"}`)
	for range sortWithin - 1 {
		fmt.Fprintln(&text, `{"time":1790000900,"key":"next"}`)
	}
	fmt.Fprintln(&text, `{"time":1790000899,"key":"late"}`)
	fmt.Fprintln(&text, `{"time":1790000900,"key":"last"}`)
	r := parsing(t, Fields{})
	all, err := open([]Log{{"log", strings.NewReader(text.String())}}, r)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for c, ok, err := all.next(); ok; c, ok, err = all.next() {
		if err != nil {
			t.Fatal(err)
		}
		if name := r.keys.names[c.key]; len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
	}
	if got := strings.Join(order, " "); got != "first next last" || r.tally.Late != 1 || r.tally.Problems[0].Line != sortWithin+1 {
		t.Errorf("the order is %s, and %+v", got, r.tally)
	}
}

// A log may be packed, and have lines that are too long, no end of its last line, or lines of both forms.
func TestFormsOfALog(t *testing.T) {
	text := `{"time":1790000000,"key":"a"}` + "\r\n" + `{"time":1790000000,"key":"` + strings.Repeat("k", maxLine) + "\"}\n" +
		`a - - [21/Sep/2026:14:13:21 +0000] "GET / HTTP/1.1" 200 1`
	var packed bytes.Buffer
	for _, part := range []string{text[:20], text[20:]} { // two members, as logs that were appended to have
		w := gzip.NewWriter(&packed)
		if _, err := w.Write([]byte(part)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	for what, log := range map[string]Log{"plain": {"log", strings.NewReader(text)}, "packed": {"log", &packed}} {
		r := parsing(t, Fields{})
		all, err := open([]Log{log}, r)
		if err != nil {
			t.Fatal(what, err)
		}
		n := 0
		for _, ok, err := all.next(); ok; _, ok, err = all.next() {
			if n++; err != nil {
				t.Fatal(what, err)
			}
		}
		if n != 2 || r.tally.Lines != 3 || r.tally.Unreadable != 1 || r.tally.Problems[0].Line != 2 || len(r.keys.names) != 1 {
			t.Errorf("%s: %d checks, %+v, %q", what, n, r.tally, r.keys.names)
		}
	}
}

// Whatever a line says, it is a check with a key, a time and a cost that limits can decide, or it is left out.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		`192.0.2.7 - alice [10/Oct/2026:13:55:36 +0200] "GET /a?c=d HTTP/1.1" 200 2326 "-" "x"`,
		`{"key":"a","time":"2026-10-10T13:55:36+02:00","cost":3,"user":{"id":7}}`, `{"key":"a","ts":1790000000.123}`,
	} {
		f.Add(line, "{user.id}:{path}", "time,ts", "cost")
		f.Add(line, "", "", "")
	}
	f.Fuzz(func(t *testing.T, text, key, times, cost string) {
		fields := Fields{Key: key, Cost: cost}
		if times != "" {
			fields.Time = strings.Split(times, ",")
		}
		template, err := parseTemplate(key)
		if err != nil || fields.check() != nil {
			return
		}
		r := &reader{fields: fields, key: template, keys: &intern{ids: map[string]int32{}}, tally: &Tally{}}
		line := trimmed([]byte(text))
		if len(line) == 0 {
			return
		}
		c, err := r.parse(line)
		if _, is := err.(*lineError); err != nil && !is { //nolint:errorlint // parse promises this type
			t.Fatalf("the error is %T: %v", err, err)
		}
		if err == nil && (c.at <= 0 || c.at >= lastTime.UnixNano() || c.cost < 0 || r.keys.names[c.key] == "") {
			t.Fatalf("%q is %+v", text, c)
		}
	})
}

// A series counts what a map of times counts, whatever it spans, and is divided into no more pieces than asked.
func TestSeries(t *testing.T) {
	for range 200 {
		random, seed := seeded()
		s := newSeries(1)
		at := random.Int64N(1 << 61)
		times := map[int64]int64{}
		span := random.IntN(58)
		for range 1 + random.IntN(500) {
			at = min(at+random.Int64N(1<<span), lastTime.UnixNano()-1)
			cell := s.at(at)
			s.asked[cell]++
			s.denied[0][cell] += 2
			times[at]++
		}
		columns := 1 + random.IntN(200)
		step, first := s.divide(columns)
		asked, denied := s.fold(s.asked, step), s.fold(s.denied[0], step)
		if len(asked) > columns || len(s.asked) > maxCells {
			t.Fatalf("seed %d: %d pieces of %v of %d cells, want at most %d", seed, len(asked), time.Duration(step), len(s.asked), columns)
		}
		for at, n := range times {
			asked[(at-first)/step] -= n
			denied[(at-first)/step] -= 2 * n
		}
		for i := range asked {
			if asked[i] != 0 || denied[i] != 0 {
				t.Fatalf("seed %d: piece %d is off by %d and %d", seed, i, asked[i], denied[i])
			}
		}
	}
}

// seeded is a source of chance, and its seed.
func seeded() (*rand.Rand, uint64) {
	seed := rand.Uint64()
	return rand.New(rand.NewPCG(seed, 1)), seed
}
