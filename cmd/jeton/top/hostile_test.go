package top

import (
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/jeton-dev/jeton/rpc/activity"
)

// hostile are texts that steer a terminal, or of which terminals do not agree how wide they are.
var hostile = []string{
	"\x1b[2J\x1b]0;owned\x07", "\u009b31m", "\x9b1m\xff\xfe", "\r\nforged\tline", "\u202egnp", "\u2066a", "שלום עולם", "مرحبا",
	"😀😀", "🇩🇪", "👩\u200d👩\u200d👧", "❤\ufe0f", "e" + strings.Repeat("\u0301", 200), "日本語", "\u0301", "a\u00a0b", "\U000e0041", "\ufffd", "",
	strings.Repeat("k", 512), strings.Repeat("\x1b[", 256), strings.Repeat("日", 170), "ที่นี่",
}

// attributes are what a frame may have beside text: colors and the like.
var attributes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkSafe says what of a frame would steer a terminal.
func checkSafe(t *testing.T, frame string) {
	t.Helper()
	text := attributes.ReplaceAllString(frame, "")
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%q reaches the terminal in %q", r, text)
		}
	}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if ansi.StringWidth(l) != ansi.StringWidthWc(l) {
			t.Fatalf("terminals do not agree how wide this is: %q", l)
		}
	}
}

// spoil puts hostile text and strange numbers into everything that a value has.
func spoil(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && rng.IntN(2) == 0 {
			v.SetString(hostile[rng.IntN(len(hostile))])
		}
	case reflect.Float64:
		if v.CanSet() && rng.IntN(4) == 0 {
			v.SetFloat([]float64{math.NaN(), math.Inf(1), -1, 1e300, 0}[rng.IntN(5)])
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			spoil(rng, field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(rng, v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(rng, v.Elem())
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]float64]() && v.Len() > 0 {
			v.SetMapIndex(reflect.ValueOf(hostile[rng.IntN(len(hostile))]), reflect.ValueOf(1.0))
		}
	default:
	}
}

// Whatever a cluster says of itself, it does not steer the terminal, and every line is as wide as the screen takes it for.
func TestHostileText(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	presses := []string{"l", "k", "n", "g", "tab", "enter", "esc", "down", "end", "d", "u", "p", "?", "left", "right", "/"}
	for range 50 {
		v := aView()
		for _, text := range hostile {
			v.Keys = append(v.Keys, aKey(text, text, 1, 0.5, activity.Bucket{Limit: text, Capacity: 1}))
			v.Limits = append(v.Limits, activity.LimitRates{Name: text})
		}
		spoil(rng, reflect.ValueOf(v))
		s := New(Config{Options: Options{By: Limits, Sort: Traffic}, Every: time.Second})
		s.Resize(20+rng.IntN(140), 5+rng.IntN(60))
		s.Show(v, at)
		for range 12 {
			if s.typing {
				s.Write(hostile[rng.IntN(len(hostile))])
				press(s, "enter")
			}
			press(s, presses[rng.IntN(len(presses))])
			if b := s.Opened(); b != nil && b.Key != "" {
				s.ShowBucket(*b, anInspection(t, "login", b.Key), nil, at)
			}
			if asked := s.Searched(); asked != nil {
				s.ShowFound(&Found{Search: *asked, Keys: v.Keys, Silent: hostile[:1]}, at)
			}
			frame := s.Frame()
			checkFrame(t, s, frame)
			checkSafe(t, frame)
		}
		var out strings.Builder
		for _, by := range Tables() {
			if err := Write(&out, v, Options{By: by, Sort: Traffic}); err != nil {
				t.Fatal(err)
			}
		}
		checkSafe(t, out.String())
	}
}

// Numbers stand below one another, whatever stands behind them.
func TestColumnsStayAligned(t *testing.T) {
	v := aView()
	v.Keys = nil
	for _, text := range hostile {
		v.Keys = append(v.Keys, aKey(text, "node-1", 7, 0.5, activity.Bucket{Limit: "login", Capacity: 10, Remaining: 3, Used: 0.7}))
	}
	v.Denied = nil
	for _, width := range []int{60, 80, 120, 200} {
		s := aScreen(width, 60, Config{Options: Options{By: Keys, Sort: Traffic}})
		s.Show(v, at)
		rows, column := 0, 0
		for l := range strings.Lines(plainly(s.Frame())) {
			found := strings.Index(l, "70%")
			if found < 0 {
				continue
			}
			if rows++; rows > 1 && found != column {
				t.Errorf("used stands in column %d, and of other keys in %d: %q", found, column, l)
			}
			column = found
		}
		if rows != len(hostile) {
			t.Errorf("%d cells wide: %d rows of %d:\n%s", width, rows, len(hostile), plainly(s.Frame()))
		}
	}
}

// What is no number has its place in a line of the last values, and takes none from the others.
func TestSparklineOfStrangeNumbers(t *testing.T) {
	if got := sparkline([]float64{1, math.Inf(1), math.NaN(), math.Inf(-1), 2, 0}, 6); got != "▅▁▁▁█▁" {
		t.Errorf("got %s", got)
	}
}
