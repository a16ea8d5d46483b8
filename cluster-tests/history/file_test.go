package history_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// written is h as a file.
func written(t interface{ Fatal(...any) }, h *history.History) []byte {
	var file bytes.Buffer
	w := history.NewWriter(&file)
	if err := w.Write(h); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What was written is read.
func TestFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScene(t)
		if rapid.Bool().Draw(t, "another algorithm") {
			s = anyCount(t)
		}
		if rapid.Bool().Draw(t, "holds") {
			s = anyHolds(t)
		}
		h := s.play()
		if rapid.Bool().Draw(t, "faults") {
			h.Faults = []history.Fault{{Start: epoch, End: epoch + 5, What: "node-1 is \"frozen\"\n"}, {Start: epoch + 5, End: epoch + 5, What: "healed"}}
		}
		got, err := history.Read(bytes.NewReader(written(t, h)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, h) {
			t.Fatalf("read\n%+v\nwrote\n%+v", got, h)
		}
	})
}

// The format is a contract with what writes and reads it in other languages.
func TestFormat(t *testing.T) {
	h := &history.History{
		Limits: []history.Limit{
			{Name: "api", Capacity: 3, Tokens: 1, PerNS: second, At: 7, By: 9},
			{Name: "streams", Algorithm: history.Concurrency, Capacity: 3, Length: second},
			{Name: "tokens", Capacity: 3, Tokens: 1, PerNS: second, Holds: history.Free, Debt: 2},
		},
		Calls: []history.Call{
			{Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: 1, Start: 10, End: 20, Via: "client", Receipt: &history.Receipt{
				Generation: 5, Span: history.Span{Start: 11, End: 12}, Owner: "o", Serial: 6, Reuses: []history.Span{{Start: 1, End: 2}},
			}},
			{Kind: history.KindCheck, Outcome: history.Failed, Limit: "api", Key: "k", Cost: 0, Start: 0, End: 20, Error: "deadline"},
			{Kind: history.KindReset, Outcome: history.Done, Limit: "api", Key: "k", Start: 10, End: 20},
			{Kind: history.KindExtend, Outcome: history.Denied, Limit: "streams", Key: "k", Start: 10, End: 20, Receipt: &history.Receipt{Owner: "o", Serial: 6}},
			{Kind: history.KindHold, Outcome: history.Admitted, Limit: "tokens", Key: "k", Cost: 2, Start: 10, End: 20, Hold: &history.Hold{ID: "h", For: second}},
			{
				Kind: history.KindSettle, Outcome: history.Done, Limit: "tokens", Key: "k", Start: 30, End: 40,
				Hold: &history.Hold{ID: "h", For: second, Open: true, State: history.Open, Charged: 2},
			},
		},
		Faults: []history.Fault{{Start: 1, End: 2, What: "node-2 is killed"}, {Start: 3, End: 4, What: "a clock stands still", Held: 5}},
	}
	want := `{"kind":"limit","limit":"api","capacity":3,"tokens":1,"per_ns":1000000000,"at":7,"by":9}
{"kind":"limit","limit":"streams","algorithm":"concurrency","capacity":3,"length_ns":1000000000}
{"kind":"limit","limit":"tokens","capacity":3,"tokens":1,"per_ns":1000000000,"holds":"free","debt":2}
{"kind":"check","limit":"api","key":"k","cost":1,"start":10,"end":20,"outcome":"admitted","receipt":{"generation":"5","start":11,"end":12,"owner":"o","serial":6,"reuses":[{"start":1,"end":2}]},"via":"client"}
{"kind":"check","limit":"api","key":"k","cost":0,"start":0,"end":20,"outcome":"failed","error":"deadline"}
{"kind":"reset","limit":"api","key":"k","start":10,"end":20,"outcome":"done"}
{"kind":"extend","limit":"streams","key":"k","start":10,"end":20,"outcome":"denied","receipt":{"generation":"0","start":0,"end":0,"owner":"o","serial":6}}
{"kind":"hold","limit":"tokens","key":"k","cost":2,"start":10,"end":20,"outcome":"admitted","hold":{"id":"h","for_ns":1000000000}}
{"kind":"settle","limit":"tokens","key":"k","cost":0,"start":30,"end":40,"outcome":"done","hold":{"id":"h","for_ns":1000000000,"open":true,"state":"open","charged":2}}
{"kind":"fault","start":1,"end":2,"what":"node-2 is killed"}
{"kind":"fault","start":3,"end":4,"what":"a clock stands still","held_ns":5}
`
	if got := string(written(t, h)); got != want {
		t.Errorf("wrote\n%s\nwant\n%s", got, want)
	}
}

// Errors name the line and the field.
func TestBadFiles(t *testing.T) {
	const limit = `{"kind":"limit","limit":"api","capacity":3,"tokens":1,"per_ns":1000}` + "\n"
	for _, test := range []struct{ bad, want string }{
		{`{"kind":"check"`, "line 2: ends in the middle of an object"},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"end":9,"outcome":"denied"}`, "line 2: start and end"},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"start":9,"end":8,"outcome":"denied"}`, "line 2: end: 8 lies before the start, 9"},
		{`{"kind":"check","limit":"api","key":"k","cost":"1","start":9,"end":9,"outcome":"denied"}`, "line 2: cost: "},
		{`{"kind":"check","limit":"api","key":"k","cost":1.5,"start":9,"end":9,"outcome":"denied"}`, "line 2: cost: "},
		{`{"kind":"check","limit":"api","key":"k","cost":-1,"start":9,"end":9,"outcome":"denied"}`, "line 2: cost: -1 is negative"},
		{`{"kind":"check","limit":"api","key":"k","start":9,"end":9,"outcome":"denied"}`, "line 2: cost: "},
		{`{"kind":"check","limit":"api","key":"","cost":1,"start":9,"end":9,"outcome":"denied"}`, "line 2: key: "},
		{`{"kind":"check","limit":"other","key":"k","cost":1,"start":9,"end":9,"outcome":"denied"}`, `line 2: limit: "other"`},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"taken"}`, "line 2: outcome: a call of the kind check cannot be taken"},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"maybe"}`, `line 2: outcome: "maybe"`},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"denied","size":1}`, "line 2: unknown field \"size\""},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"denied"} {}`, "line 2: more than one object"},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"admitted","receipt":{"generation":"1","start":5,"end":4,"owner":"o"}}`, "line 2: receipt.end: 4"},
		{`{"kind":"check","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"denied","receipt":{"generation":"1","start":5,"end":6,"owner":"o"}}`, "line 2: receipt: a check that is denied has none"},
		{`{"kind":"return","limit":"api","key":"k","start":9,"end":9,"outcome":"taken"}`, "line 2: receipt: a return needs one"},
		{`{"kind":"return","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"taken"}`, "line 2: cost: a return has none"},
		{`{"kind":"limit","limit":"new","capacity":0,"tokens":1,"per_ns":1}`, "line 2: capacity: 0"},
		{`{"kind":"limit","limit":"new","capacity":9223372036854775807,"tokens":1,"per_ns":9}`, "line 2: capacity: an empty bucket takes"},
		{`{"kind":"limit","limit":"api","capacity":3,"tokens":1,"per_ns":1000}`, "limit api: at: "},
		{`{"kind":"limit","limit":"new","algorithm":"leaky","capacity":3,"length_ns":9}`, `line 2: algorithm: "leaky" is none of fixed-window, `},
		{`{"kind":"limit","limit":"new","algorithm":"weighted","capacity":3}`, "line 2: length_ns: 0"},
		{`{"kind":"limit","limit":"new","algorithm":"weighted","capacity":3,"length_ns":9,"tokens":1}`, "line 2: tokens and per_ns: "},
		{`{"kind":"limit","limit":"new","algorithm":"weighted","capacity":2000000000000000,"length_ns":9}`, "line 2: capacity: 2000000000000000"},
		{`{"kind":"limit","limit":"new","algorithm":"fixed-window","capacity":10,"length_ns":9}`, "line 2: capacity: 10"},
		{`{"kind":"limit","limit":"new","capacity":3,"tokens":1,"per_ns":1000,"length_ns":9}`, "line 2: length_ns: "},
		{`{"kind":"limit","limit":"api","algorithm":"weighted","capacity":3,"length_ns":9,"at":5}`, "limit api: algorithm: "},
		{`{"kind":"extend","limit":"api","key":"k","start":9,"end":9,"outcome":"admitted"}`, "line 2: receipt: an extension needs one"},
		{`{"kind":"extend","limit":"api","key":"k","start":9,"end":9,"outcome":"taken","receipt":{"generation":"1","start":5,"end":6,"owner":"o"}}`, "line 2: outcome: a call of the kind extend cannot"},
		{`{"kind":"fault","start":1,"end":2}`, "line 2: what: missing"},
		{`{"kind":"hold","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"admitted"}`, "line 2: hold: a hold that is admitted needs one"},
		{`{"kind":"hold","limit":"api","key":"k","start":9,"end":9,"outcome":"denied"}`, "line 2: cost: a hold needs one"},
		{`{"kind":"hold","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"denied","hold":{"id":"h"}}`, "line 2: hold: a hold that is denied has none"},
		{`{"kind":"hold","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"admitted","hold":{"id":"","for_ns":5}}`, "line 2: hold.id: missing"},
		{`{"kind":"hold","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"admitted","hold":{"id":"h"}}`, "line 2: hold.for_ns: 0"},
		{`{"kind":"hold","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"admitted","hold":{"id":"h","for_ns":5,"open":true}}`, "line 2: hold: only a settlement"},
		{`{"kind":"settle","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"done","hold":{"id":"h","state":"gone"}}`, `line 2: hold.state: "gone"`},
		{`{"kind":"settle","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"done","hold":{"id":"h","state":"settled","charged":-1}}`, "line 2: hold.charged: -1"},
		{`{"kind":"settle","limit":"api","key":"k","cost":1,"start":9,"end":9,"outcome":"failed","hold":{"id":"h","state":"open"}}`, "line 2: hold: a settlement that is failed"},
		{`{"kind":"limit","limit":"new","capacity":1,"tokens":1,"per_ns":1,"holds":"keep"}`, `line 2: holds: "keep"`},
		{`{"kind":"limit","limit":"api","capacity":3,"tokens":1,"per_ns":1000,"holds":"free","at":5}`, "limit api: holds: "},
		{`{"kind":"limit","limit":"new","capacity":1,"tokens":1,"per_ns":1,"debt":1}`, "line 2: debt: 1"},
		{`{"kind":"fault","start":1,"end":2,"what":"x","held_ns":-1}`, "line 2: held_ns: -1"},
		{`{"kind":"fault","what":"x"}`, "line 2: start and end"},
		{`{"kind":"other"}`, `line 2: kind: "other"`},
		{``, ""},
		{"\n" + limit, "line 2: ends in the middle"},
		{`[]`, "line 2: "},
		{`{"kind":"fault","start":1,"end":2,"what":"` + strings.Repeat("x", history.MaxLine) + `"}`, "line 2: longer than"},
	} {
		_, err := history.Read(strings.NewReader(limit + test.bad))
		if test.want == "" && err == nil {
			continue
		}
		if err == nil || test.want == "" || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.200s: %v, want an error that begins with %q", test.bad, err, test.want)
		}
	}
}

// Many may write at once, and a reader finds whole lines.
func TestWriterIsShared(t *testing.T) {
	var file bytes.Buffer
	w := history.NewWriter(&file)
	if err := w.WriteLimit(token(3, 1, second)); err != nil {
		t.Fatal(err)
	}
	h := busy.play()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for _, c := range h.Calls {
				if err := w.WriteCall(c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := history.Read(&file)
	if err != nil || len(got.Calls) != 8*len(h.Calls) {
		t.Errorf("%d calls were read, %d written: %v", len(got.Calls), 8*len(h.Calls), err)
	}
}

type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriterTellsErrors(t *testing.T) {
	w := history.NewWriter(full{})
	if err := w.WriteCall(history.Call{Kind: history.KindCheck}); err == nil || !strings.Contains(err.Error(), "outcome") {
		t.Errorf("a call that cannot be: %v", err)
	}
	if err := w.WriteFault(history.Fault{What: "x"}); err != nil {
		t.Errorf("what is kept until later: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, errFull) {
		t.Errorf("Flush: %v, want %v", err, errFull)
	}
	if err := w.WriteFault(history.Fault{What: "x"}); !errors.Is(err, errFull) {
		t.Errorf("after an error: %v, want %v", err, errFull)
	}
}

// Whatever is read can be checked and written, and is then read as the same.
func FuzzRead(f *testing.F) {
	for seed := range uint64(3) {
		s := giving
		s.seed, s.checks, s.resets, s.failures = seed, 5, 0.3, 0.2
		f.Add(written(f, s.play()))
	}
	f.Add([]byte(`{"kind":"limit","limit":"a","capacity":1,"tokens":1,"per_ns":1}` + "\n" + `{"kind":"fault","start":1,"end":2,"what":"healed"}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := history.Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		if again, err := history.Read(bytes.NewReader(written(t, h))); err != nil || !reflect.DeepEqual(again, h) {
			t.Fatalf("%+v was read again as %+v: %v", h, again, err)
		}
		if len(h.Calls) == 0 || len(h.Calls) > 100 {
			return
		}
		if results, err := history.Run(h, 1000); err != nil || len(results) != len(history.Checkers()) {
			t.Fatalf("%v: %v", results, err)
		}
	})
}
