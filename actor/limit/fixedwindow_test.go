package limit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/calendar"
)

func ruleOf(t interface {
	Helper()
	Fatal(...any)
}, l limit.Limit,
) *limit.Rule {
	t.Helper()
	rule, err := l.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// A minute's window of three tokens, second by second.
func TestFixedWindowByTable(t *testing.T) {
	rule := ruleOf(t, limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 3, Window: time.Minute})
	minute := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tat := limit.Pos{}
	for _, c := range []struct {
		at           time.Duration
		cost         int64
		allowed      bool
		left         int64
		reset, retry time.Duration
	}{
		{50 * time.Second, 2, true, 1, 10 * time.Second, 0},
		{51 * time.Second, 2, false, 1, 9 * time.Second, 9 * time.Second},
		{51 * time.Second, 1, true, 0, 9 * time.Second, 0},
		{time.Minute - 1, 1, false, 0, 1, 1},
		{time.Minute, 3, true, 0, time.Minute, 0}, // twice the limit in nine seconds
		{time.Minute, 0, true, 0, time.Minute, 0},
		{119 * time.Second, 1, false, 0, time.Second, time.Second},
		{5 * time.Minute, 0, true, 3, 0, 0},
		{5 * time.Minute, 4, false, 3, 0, 0}, // never
		{5*time.Minute + 30*time.Second, 3, true, 0, 30 * time.Second, 0},
	} {
		now := minute.Add(c.at).UnixNano()
		end := rule.End(tat, now, rule.Length(c.cost))
		var ok bool
		tat, ok = rule.Decide(tat, now, c.cost)
		got := rule.Outcome(tat, now, c.cost, end, ok)
		want := limit.Outcome{
			Name: "page", Allowed: c.allowed, Never: c.cost > 3, Limit: 3, Remaining: c.left, ResetAfter: c.reset, RetryAfter: c.retry,
		}
		if got != want {
			t.Errorf("cost %d at %v: got %+v, want %+v", c.cost, c.at, got, want)
		}
	}
}

// A counter is a window as textbooks have it: how much was admitted in the current one.
type counter struct {
	limit  int64
	window func(t int64) (start, end int64)
	start  int64
	spent  int64
}

func (c *counter) decide(t, cost int64) bool {
	if start, _ := c.window(t); start != c.start {
		c.start, c.spent = start, 0
	}
	if c.spent+cost > c.limit || cost > c.limit {
		return false
	}
	c.spent += cost
	return true
}

// matches asks a rule of windows and a counter the same at random, and expects the same answers, and those times.
func matches(t *rapid.T, rule *limit.Rule, c *counter, now int64) {
	tat := limit.Pos{}
	_, end := c.window(now)
	length := end - now
	for range rapid.IntRange(1, 50).Draw(t, "checks") {
		now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, length/5+1), rapid.Int64Range(0, 3*length+1)).Draw(t, "step")
		if rapid.IntRange(0, 4).Draw(t, "at the end") == 0 {
			_, end := c.window(now)
			now = max(now, end-rapid.Int64Range(0, 1).Draw(t, "before"))
		}
		if now > latest-length {
			return
		}
		cost := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, rule.Capacity+1)).Draw(t, "cost")
		want := c.decide(now, cost)
		finish := rule.End(tat, now, rule.Length(cost))
		var ok bool
		tat, ok = rule.Decide(tat, now, cost)
		o := rule.Outcome(tat, now, cost, finish, ok)
		_, end := c.window(now)
		if ok != want || o.Remaining != c.limit-c.spent {
			t.Fatalf("cost %d at %s: got %+v, the counter says %v and has spent %d", cost, time.Unix(0, now).UTC(), o, want, c.spent)
		}
		if left := time.Duration(end - now); (c.spent > 0) != (o.ResetAfter == left) || c.spent == 0 && o.ResetAfter != 0 || !ok && !o.Never && o.RetryAfter != left {
			t.Fatalf("cost %d at %s: got %+v, and the window ends %v later", cost, time.Unix(0, now).UTC(), o, left)
		}
	}
}

func TestFixedWindowIsACounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.OneOf(
			rapid.Int64Range(int64(time.Millisecond), int64(time.Hour)),
			rapid.SampledFrom([]int64{int64(time.Second), int64(time.Minute), int64(24 * time.Hour), int64(limit.MaxFill / 2)}),
		).Draw(t, "window")
		rule := ruleOf(t, limit.Limit{
			Name: "w", Algorithm: limit.FixedWindow, Window: time.Duration(window),
			Capacity: rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, min(window, 1<<40)), rapid.Just(window)).Draw(t, "limit"),
		})
		start := rapid.Int64Range(0, 1<<60).Draw(t, "start")
		c := &counter{limit: rule.Capacity, window: func(t int64) (int64, int64) { return t / window * window, t/window*window + window }}
		if window > 1<<59 {
			start %= 1 << 59
		}
		matches(t, rule, c, start)
	})
}

// The same in windows of the calendar.
func TestCalendarWindowIsACounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := drawCalendar(t, limit.FixedWindow, rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, 1<<40)).Draw(t, "limit"))
		windows, err := calendar.New(rule.Per, rule.Timezone, rule.Anchor)
		if err != nil {
			t.Fatal(err)
		}
		matches(t, rule, &counter{limit: rule.Capacity, window: windows.Window}, rapid.Int64Range(0, 1<<61).Draw(t, "start"))
	})
}

// At the ends of the range of time, windows are cut off, and nothing overflows.
func TestFixedWindowAtTheEndsOfTime(t *testing.T) {
	for _, l := range []limit.Limit{{Window: time.Millisecond}, {Window: time.Minute}, {Window: limit.MaxFill / 2}, {Per: "day"}, {Per: "year", Timezone: "Europe/Berlin"}} {
		l.Name, l.Algorithm, l.Capacity = "w", limit.FixedWindow, 7
		rule := ruleOf(t, l)
		for _, at := range []int64{-1 << 63, -1<<63 + 1, -1, 0, 1<<63 - 2} {
			if begin, bound := rule.Begin(at), rule.Bound(at); begin < at || limit.At(begin).After(bound) || bound.NS == 1<<63-1 {
				t.Errorf("%s at %d: begin %d, bound %v", rule.Register(), at, begin, bound)
			}
		}
	}
}

// The windows of any length begin at its multiples.
func TestFixedWindowsAreAligned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.OneOf(rapid.Int64Range(int64(time.Millisecond), 1<<60), rapid.Int64Range(int64(time.Millisecond), int64(time.Hour))).Draw(t, "length")
		rule := ruleOf(t, limit.Limit{Name: "w", Algorithm: limit.FixedWindow, Capacity: 1, Window: time.Duration(length)})
		at := rapid.Int64Range(-1<<60, 1<<62).Draw(t, "at")
		if rapid.Bool().Draw(t, "at a border") {
			at = at/length*length - rapid.Int64Range(0, 1).Draw(t, "before")
		}
		if end := rule.Begin(at); end <= at || end-at > length || end%length != 0 {
			t.Fatalf("the window of %d around %d ends at %d", length, at, end)
		}
	})
}

// The register of a bucket says which windows its positions are of.
func TestRegisterNamesTheShape(t *testing.T) {
	bucket := limit.Limit{Name: "page", Capacity: 3, Refill: perSecond(1)}
	minute := limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 3, Window: time.Minute}
	hour, other, month, berlin := minute, minute, minute, minute
	hour.Window, other.Capacity = time.Hour, 7
	month.Window, month.Per = 0, "month"
	berlin.Window, berlin.Per, berlin.Timezone, berlin.Anchor = 0, "month", "Europe/Berlin", "015"
	for want, l := range map[string]limit.Limit{
		"page": bucket, "page@1m": minute, "page@1h": hour, "page@month/1/UTC": month, "page@month/15/Europe/Berlin": berlin,
	} {
		if got := ruleOf(t, l).Register(); got != want {
			t.Errorf("%+v has the register %q, want %q", l, got, want)
		}
	}
	if got := ruleOf(t, other).Register(); got != "page@1m" {
		t.Errorf("another limit of the same windows has the register %q", got)
	}
}

// A limit that is changed within one shape of windows keeps what is spent as a share of the window.
func TestChangedLimitKeepsTheShare(t *testing.T) {
	old := ruleOf(t, limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 100, Window: time.Minute})
	now := epoch
	tat, _ := old.Decide(limit.Pos{}, now, 40)
	for capacity, want := range map[int64]int64{10: 6, 1000: 600, 100: 60, 1: 0} {
		changed := old.Limit
		changed.Capacity = capacity
		rule := ruleOf(t, changed)
		if got := rule.Tokens(rule.Carry(old, tat), now); got != want {
			t.Errorf("40 of 100 are spent: of %d there are %d left, want %d", capacity, got, want)
		}
	}
}

func TestFixedWindowInvalid(t *testing.T) {
	for name, c := range map[string]struct{ text, field, fix string }{
		"no window":          {"limit: 1", "window", "is missing: say how long a window lasts, such as 1m"},
		"no limit":           {"window: 1m", "limit", "is missing: say how many tokens a window admits"},
		"a window and per":   {"limit: 1, window: 1m, per: day", "per", "leave one of them out"},
		"an unknown per":     {"limit: 1, per: hour", "per", "for hours and less write window, such as window: 1h"},
		"an unknown zone":    {"limit: 1, per: day, timezone: Europe/Berln", "timezone", `did you mean "Europe/Berlin"?`},
		"anchor 32":          {"limit: 1, per: month, anchor: 32", "anchor", `"32" is not a day of the month: use 1 to 31`},
		"a wrong anchor":     {"limit: 1, per: week, anchor: 15", "anchor", "use monday, tuesday"},
		"no per":             {"limit: 1, anchor: 15", "window", "or write per: day, week, month or year"},
		"a zone of a window": {"limit: 1, window: 1h, timezone: UTC", "timezone", "belongs to windows of the calendar"},
		"an anchored window": {"limit: 1, window: 1h, anchor: 3", "anchor", "write per: day, week, month or year in place of window"},
		"too many of a day":  {"limit: 86400000000001, per: day", "limit", "at most 86400000000000"},
		"limit 0":            {"limit: 0, window: 1m", "limit", "at least 1 token"},
		"negative":           {"limit: -1, window: 1m", "limit", "-1 is too small"},
		"a capacity":         {"capacity: 9, window: 1m", "capacity", "write limit: 9, or algorithm: token-bucket"},
		"both":               {"capacity: 9, limit: 8, window: 1m", "capacity", "does not fit the algorithm fixed-window"},
		"a refill":           {"limit: 1, window: 1m, refill: 1/s", "refill", "leave it out, or write algorithm: token-bucket"},
		"too many":           {"limit: 1000001, window: 1ms", "limit", "at most 1000000, a token a nanosecond"},
		"too short":          {"limit: 1, window: 999µs", "window", "at least 1ms"},
		"none":               {"limit: 1, window: 0s", "window", "is missing"},
		"negative window":    {"limit: 1, window: -1m", "window", "is too short"},
		"too long":           {"limit: 1, window: 400000h", "window", "at most 36 years"},
		"a word":             {"limit: 1, window: often", "window", `"often" is not a duration, such as 1s, 1m`},
		"a number":           {"limit: 1, window: 60", "window", `"60" is not a duration`},
		"a list":             {"limit: 1, window: [1m]", "window", "is not a single value"},
		"a month":            {"limit: 1, window: month", "window", "months are not equally long: write per: month"},
		"one month":          {"limit: 1, window: 1mo", "window", "months are not equally long: write per: month"},
		"years":              {"limit: 1, window: 2 years", "window", "write per: year"},
		"a day":              {"limit: 1, window: 1d", "window", "write it in hours, such as 24h, or write per: day"},
		"a week":             {"limit: 1, window: week", "window", "such as 168h, or write per: week"},
		"an unknown field":   {"limit: 1, windwo: 1m", "windwo", `did you mean "window"?`},
		"an unknown policy":  {"limit: 1, window: 1m, on_unavailable: no", "on_unavailable", "use allow, deny or local"},
		"a limit twice":      {"limit: 1, window: 1m, limit: 2", "limit", "is defined already"},
		"a limit of a float": {"limit: 1.5, window: 1m", "limit", "is not a whole number of tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := limit.ParseDocument([]byte("limits:\n\n  page: {algorithm: fixed-window, " + c.text + "}\n"))
			wantFieldError(t, err, "limits.page."+c.field, c.fix)
			if fe := fieldError(t, err); fe.Line != 3 {
				t.Errorf("line %d: %v", fe.Line, err)
			}
		})
	}
	for name, c := range map[string]struct{ text, field, fix string }{
		"a limit of a bucket":  {"limit: 5, refill: 1/s", "limit", "does not fit the algorithm token-bucket, the default, which has capacity, refill, wait, reserve, hold, on_expiry and max_debt: write capacity: 5, or algorithm: concurrency or fixed-window or sliding-log or sliding-window"},
		"a window of a bucket": {"capacity: 5, refill: 1/s, window: 1m", "window", "leave it out, or write algorithm: fixed-window or sliding-log or sliding-window"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := limit.ParseDocument([]byte("limits:\n  page: {" + c.text + "}\n"))
			wantFieldError(t, err, "limits.page."+c.field, c.fix)
		})
	}
}

// A field that an algorithm does not have is refused where no text was read, too.
func TestFieldsOfOtherAlgorithms(t *testing.T) {
	_, err := limit.Limit{Name: "a", Capacity: 1, Refill: perSecond(1), Window: time.Minute}.Rule()
	wantFieldError(t, err, "window", "does not fit the algorithm token-bucket")
	_, err = limit.Limit{Name: "a", Algorithm: limit.FixedWindow, Capacity: 1, Refill: perSecond(1), Window: time.Minute}.Rule()
	wantFieldError(t, err, "refill", "which has limit")
	_, err = limit.Limit{Name: "a", Algorithm: limit.FixedWindow, Window: time.Minute}.Rule()
	wantFieldError(t, err, "limit", "is missing or 0")
}

func TestFixedWindowForms(t *testing.T) {
	doc := mustDocument(t, "limits: {page: {window: 60s, limit: 100, algorithm: fixed-window, on_unavailable: deny}}")
	text, err := doc.YAML()
	if want := "limits:\n  page:\n    algorithm: fixed-window\n    limit: 100\n    window: 1m\n    on_unavailable: deny\n"; err != nil || string(text) != want {
		t.Errorf("%v, got:\n%s", err, text)
	}
	wantSameDocument(t, doc)
	calendars := mustDocument(t, "limits: {a: {limit: 5, algorithm: fixed-window, per: month, timezone: Europe/Berlin, anchor: 015}, b: {limit: 1, algorithm: fixed-window, per: year}}")
	text, err = calendars.YAML()
	if want := "limits:\n  a:\n    algorithm: fixed-window\n    limit: 5\n    per: month\n    timezone: Europe/Berlin\n    anchor: 15\n    on_unavailable: allow\n" +
		"  b:\n    algorithm: fixed-window\n    limit: 1\n    per: year\n    timezone: UTC\n    anchor: 01-01\n    on_unavailable: allow\n"; err != nil || string(text) != want {
		t.Errorf("%v, got:\n%s", err, text)
	}
	wantSameDocument(t, calendars)
	rule, _ := doc.Rule("page")
	if terms := rule.Terms(); len(terms) != 2 || terms[0] != "limit 100" || terms[1] != "window 1m" {
		t.Errorf("%q", terms)
	}
	if l, r := rule.Exact(), ruleOf(t, limit.Limit{Name: "a", Algorithm: limit.FixedWindow, Capacity: 1, Window: 10*time.Minute + 1}).Exact(); l || !r {
		t.Errorf("a minute is exact: %v; more than ten are: %v", l, r)
	}
}
