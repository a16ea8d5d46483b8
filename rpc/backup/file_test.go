package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/rpc/backup"
)

func newFile() *backup.File {
	at := time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC)
	return &backup.File{
		Exported: backup.Exported{At: at, By: "token ann", Node: "a"},
		Content: backup.Content{
			Cluster: "0123456789abcdef0123456789abcdef",
			Limits:  backup.Limits{Version: 3, Document: backup.Lines([]byte("limits:\n  a: {capacity: 1, refill: 1/s} # <b> & c\n"))},
			Overrides: []backup.Override{
				{Limit: "a", Key: "k*", Says: "deny", Until: at, At: at, Who: "token ann"},
				{Limit: "a", Key: "l", Says: "allow"},
			},
			Audit: backup.Audit{Dropped: 1 << 60, Entries: []backup.Entry{{Number: 1<<60 + 1, At: at, Who: "token ann", Node: "a", Verb: "fill", Object: "a k"}}},
		},
	}
}

func encoded(t *testing.T, f *backup.File) string {
	t.Helper()
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFilesAreReadAsTheyWereWritten(t *testing.T) {
	f := newFile()
	text := encoded(t, f)
	got, err := backup.Decode([]byte(text))
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %v; want %+v", got, err, f)
	}
	if !strings.Contains(text, "# <b> & c") {
		t.Error("people cannot read the limits in it")
	}
	if again := encoded(t, newFile()); again != text {
		t.Error("the same content has other bytes the second time")
	}
	compact := new(bytes.Buffer)
	if err := json.Compact(compact, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Decode(compact.Bytes()); err != nil {
		t.Errorf("without white space: %v", err)
	}
	packed, err := backup.Pack([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := backup.Unpack(packed); err != nil || string(back) != text {
		t.Errorf("packed and unpacked: %v", err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	text := encoded(t, newFile())
	replaced := func(old, with string) string {
		t.Helper()
		if strings.Count(text, old) == 0 {
			t.Fatalf("no %q in %s", old, text)
		}
		return strings.Replace(text, old, with, 1)
	}
	twice := newFile()
	twice.Content.Overrides = append(twice.Content.Overrides, twice.Content.Overrides[0])
	silent := newFile()
	silent.Content.Overrides[1].Says = ""
	forged := newFile()
	forged.Content.Cluster += ", exported 2020-01-01T00:00:00Z, as token ann has allowed"
	nowhere := newFile()
	nowhere.Content.Cluster = ""
	for _, tt := range []struct{ what, text, want string }{
		{"nothing", "", "it is empty"},
		{"white space", " \n", "it is empty"},
		{"another file", "limits: {}", "it is no JSON, as what jeton cluster export has written is: a limits document is put in force by jeton limits apply"},
		{"other JSON", `{"limits": {}}`, "format: is missing"},
		{"a cut in the middle", text[:len(text)/2], "it is cut off"},
		{"a cut at the end", strings.TrimRight(text, "}\n \t"), "it is cut off"},
		{"a newer format", replaced(`"format": 1`, `"format": 2`), "format: is 2, and this release reads 1"},
		{"an older format", replaced(`"format": 1`, `"format": 0`), "format: is 0"},
		{"an unknown field", replaced(`"cluster":`, `"buckets": 1, "cluster":`), `unknown field "buckets"`},
		{"a field of another kind", replaced(`"key": "l"`, `"key": 7`), "content.overrides.key: is of the wrong kind: number"},
		{"an edited limit", replaced("capacity: 1", "capacity: 2"), "the file was changed after it was written"},
		{"no content", `{"format": 1, "sha256": ""}`, "content: is missing"},
		{"something after it", text + "{}", "there is more after its end"},
		{"an override twice", encoded(t, twice), "content.overrides[2]: is about the same limit and key as content.overrides[0]"},
		{"an override that says nothing", encoded(t, silent), "content.overrides[1]: has no limit, no key, or says nothing"},
		{"no cluster", encoded(t, nowhere), "content.cluster: is missing"},
		{"a cluster that says more in the audit log", encoded(t, forged), "content.cluster: is no id of a cluster"},
		{"too much", text + strings.Repeat(" ", backup.MaxFile), "it has more than"},
	} {
		if _, err := backup.Decode([]byte(tt.text)); !errors.Is(err, backup.ErrFile) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.want)
		}
	}
	bomb, err := backup.Pack(make([]byte, backup.MaxFile+1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Unpack(bomb); !errors.Is(err, backup.ErrFile) {
		t.Errorf("%d bytes that become more than a file may have: %v", len(bomb), err)
	}
	if _, err := backup.Unpack([]byte("no gzip")); !errors.Is(err, backup.ErrFile) {
		t.Errorf("what was damaged: %v", err)
	}
}

// TestSmallFilesTakeLittleMemory decodes files of which each byte would become dozens in memory.
func TestSmallFilesTakeLittleMemory(t *testing.T) {
	for what, list := range map[string]struct{ before, element, after string }{
		"overrides": {`{"overrides": [`, `{}`, `]}`},
		"entries":   {`{"audit": {"entries": [`, `{}`, `]}}`},
		"lines":     {`{"limits": {"document": [`, `""`, `]}}`},
		"depth":     {`[`, `[`, `]`},
	} {
		n := 8 << 20
		content := []byte(list.before + strings.Repeat(list.element+",", n/len(list.element)) + list.element + list.after)
		text := append([]byte(`{"format": 1, "sha256": "", "content": `), content...)
		text = append(text, '}')
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := backup.Decode(text)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, backup.ErrFile) {
			t.Errorf("%s: %v", what, err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 16*uint64(len(text)) {
			t.Errorf("%s: a file of %d bytes took %d: %v", what, len(text), taken, err)
		}
	}
}

// TestTheLargestExportIsRead decodes as many overrides, entries and lines as a cluster can have.
func TestTheLargestExportIsRead(t *testing.T) {
	f := newFile()
	f.Content.Limits.Document = backup.Lines(bytes.Repeat([]byte("\n"), limit.MaxDocument))
	f.Content.Overrides = nil
	for i := range agreed.MaxOverrides {
		f.Content.Overrides = append(f.Content.Overrides, backup.Override{Limit: "a", Key: `{"` + strconv.Itoa(i) + `\\,{`, Says: "deny", At: f.Exported.At, Until: f.Exported.At, Who: "ann"})
	}
	f.Content.Audit.Entries = slices.Repeat(f.Content.Audit.Entries, agreed.MaxEntries)
	if _, err := backup.Decode([]byte(encoded(t, f))); err != nil {
		t.Error(err)
	}
}

// FuzzDecode reads anything: what is taken is written as it was read.
func FuzzDecode(f *testing.F) {
	text, err := newFile().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format": 1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := backup.Decode(text)
		if err != nil {
			if !errors.Is(err, backup.ErrFile) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		again, err := file.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := backup.Decode(again); err != nil || !reflect.DeepEqual(got.Content, file.Content) {
			t.Fatalf("%+v, %v; want %+v", got, err, file)
		}
	})
}
