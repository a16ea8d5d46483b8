package sse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scan is the events of a stream that comes in pieces of those sizes, the last of them again and again, and the bytes up to each end.
func scan(text string, most int, sizes ...int) (events, ends []string) {
	s := NewScanner(most)
	at := 0
	for i := 0; at < len(text); i++ {
		piece := text[at:min(len(text), at+sizes[min(i, len(sizes)-1)])]
		for len(piece) > 0 {
			n, part := s.Next([]byte(piece))
			at += n
			piece = piece[n:]
			switch part {
			case End:
				e := s.Event()
				events = append(events, fmt.Sprintf("%s|%s|%v", e.Name, e.Data, e.Long))
				ends = append(ends, text[:at])
			case Tail:
				ends[len(ends)-1] = text[:at]
			case Inside:
			}
		}
	}
	return events, ends
}

func TestEvents(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                       nil,
		"data: a\n\n":                            {"|a|false"},
		"data:a\n\n":                             {"|a|false"},
		"data:  a\n\n":                           {"| a|false"},
		"data: a\r\n\r\n":                        {"|a|false"},
		"data: a\r\r":                            {"|a|false"},
		"data: a\n\r\ndata: b\r\n\r":             {"|a|false", "|b|false"},
		"data: a\ndata: b\n\n":                   {"|a\nb|false"},
		"data\ndata\n\n":                         {"|\n|false"},
		"data:\n\n":                              {"||false"},
		"event: x\ndata: a\nid: 1\nretry: 2\n\n": {"x|a|false"},
		"event: x\nevent: y\n\ndata: b\n\n":      {"y||false", "|b|false"},
		": comment\n\n:\n\ndata: a\n\n":          {"||false", "||false", "|a|false"},
		"\xEF\xBB\xBFdata: a\n\n":                {"|a|false"},
		"\xEF\xBB\xBF\ndata: a\n\n":              {"||false", "|a|false"},
		"\xEF\xBBdata: a\n\n":                    {"||false"},
		"data: a\n\n\xEF\xBB\xBFdata: b\n\n":     {"|a|false", "||false"},
		"data: größe 日本\n\n":                     {"|größe 日本|false"},
		"data: a\n\ndata: b":                     {"|a|false"},
		"data: a\n\ndata: b\n":                   {"|a|false"},
		"data: 0123456789\n\ndata: b\n\n":        {"|0123456789|false", "|b|false"},
		"data: " + strings.Repeat("x", 40) + "\n\nda: b\n\ndata: 1\n\n": {"||true", "||false", "|1|false"},
		"data: 0\ndata: " + strings.Repeat("x", 26) + "\n\ndata: 1\n\n": {"||true", "|1|false"},
	} {
		for size := 1; size <= len(text)+1; size++ {
			if got, _ := scan(text, 40, size); !slices.Equal(got, want) {
				t.Errorf("%q in pieces of %d: got %q, want %q", text, size, got, want)
			}
		}
	}
}

// TestBound feeds an event of 10 MiB, and looks at what is kept.
func TestBound(t *testing.T) {
	s := NewScanner(1 << 20)
	piece := bytes.Repeat([]byte{'x'}, 10_000)
	most := 0
	s.Next([]byte("data: "))
	for range 10 << 20 / len(piece) {
		if _, part := s.Next(piece); part != Inside {
			t.Fatal("the event has ended")
		}
		most = max(most, cap(s.line)+cap(s.data)+cap(s.name))
	}
	if most > 3<<20 {
		t.Errorf("%d bytes were kept of an event, of which 1 MiB may be read", most)
	}
	if !s.Long() || cap(s.line)+cap(s.data) != 0 {
		t.Error("a long event is still kept")
	}
	if n, part := s.Next([]byte("\n\ndata: a\n\n")); n != 2 || part != End || !s.Event().Long {
		t.Errorf("the end of the long event: %d bytes, part %d", n, part)
	}
	if _, part := s.Next([]byte("data: a\n\n")); part != End || string(s.Event().Data) != "a" {
		t.Errorf("the event after the long one: %q", s.Event().Data)
	}
}

// TestBufferIsGivenBack reads an event that fits and needs much, and then little ones.
func TestBufferIsGivenBack(t *testing.T) {
	s := NewScanner(1 << 20)
	for range 2 {
		s.Next([]byte("data: " + strings.Repeat("x", 500_000) + "\n\n"))
	}
	s.Next([]byte("data: a\n\n"))
	if kept := cap(s.line) + cap(s.data); kept > 2*buffer {
		t.Errorf("%d bytes are kept between events", kept)
	}
}

// TestPieces cuts random streams at random places: neither the events nor their ends depend on where.
func TestPieces(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	words := []string{"data: ", "data", "event: x", ":", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "é", "\xEF\xBB\xBF", "0123456789", " "}
	for range 2000 {
		var b strings.Builder
		for range random.IntN(30) {
			b.WriteString(words[random.IntN(len(words))])
		}
		sizes := make([]int, 1+random.IntN(10))
		for i := range sizes {
			sizes[i] = 1 + random.IntN(8)
		}
		compare(t, b.String(), sizes)
	}
}

// model reads a whole stream slowly: it splits it into lines, and the lines into events.
func model(text string, most int) (events []string) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	var name string
	var data []string
	size := 0
	for i, line := range lines[:len(lines)-1] { // the last one has no end
		size += len(line) + 1
		if i == 0 {
			line = strings.TrimPrefix(line, "\xEF\xBB\xBF")
		}
		field, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); {
		case line == "" && size > most:
			events, name, data, size = append(events, "||true"), "", nil, 0
		case line == "":
			events, name, data, size = append(events, fmt.Sprintf("%s|%s|false", name, strings.Join(data, "\n"))), "", nil, 0
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return events
}

// compare reads a stream whole and in pieces, and as the model does.
func compare(t *testing.T, text string, sizes []int) {
	t.Helper()
	if got, _ := scan(text, 25, max(len(text), 1)); !slices.Equal(got, model(text, 25)) {
		t.Fatalf("%q: got %q, want %q", text, got, model(text, 25))
	}
	want, wantEnds := scan(text, 25, max(len(text), 1))
	got, ends := scan(text, 25, sizes...)
	if !slices.Equal(got, want) || !slices.Equal(ends, wantEnds) {
		t.Fatalf("%q in pieces of %v: got %q ending at %q, want %q at %q", text, sizes, got, ends, want, wantEnds)
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("\xEF\xBB\xBFdata: a\r\n\r\nevent: x\rdata: b\r\rdata: 0123456789012345678901234567890\n\n", uint8(1), uint8(3))
	f.Add(": ping\n\ndata: {\"a\":1}\ndata: 2\n\n", uint8(2), uint8(5))
	f.Fuzz(func(t *testing.T, text string, first, then uint8) {
		compare(t, text, []int{int(first) + 1, int(then) + 1})
	})
}

func BenchmarkScanner(b *testing.B) {
	event := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n")
	s := NewScanner(1 << 20)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		s.Next(event)
	}
}
