package calendar

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	berlin    = "Europe/Berlin"
	newYork   = "America/New_York"
	lordHowe  = "Australia/Lord_Howe"
	kathmandu = "Asia/Kathmandu"
)

func mustBe(t *testing.T, per, zone, anchor string) Calendar {
	t.Helper()
	c, err := New(per, zone, anchor)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// moment reads a time with its offset from UTC.
func moment(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05 -0700", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixNano()
}

func TestWindowsByTable(t *testing.T) {
	for _, c := range []struct{ per, zone, anchor, at, start, end string }{
		{"day", "", "", "2026-03-01 00:00:00 +0000", "2026-03-01 00:00:00 +0000", "2026-03-02 00:00:00 +0000"},
		{"day", "UTC", "6", "2026-03-01 05:59:59 +0000", "2026-02-28 06:00:00 +0000", "2026-03-01 06:00:00 +0000"},
		{"day", kathmandu, "", "2026-03-01 18:14:59 +0000", "2026-03-01 00:00:00 +0545", "2026-03-02 00:00:00 +0545"},
		// Clocks are put forward from 2 to 3, and back from 3 to 2.
		{"day", berlin, "", "2026-03-29 12:00:00 +0200", "2026-03-29 00:00:00 +0100", "2026-03-30 00:00:00 +0200"},
		{"day", berlin, "", "2026-10-25 12:00:00 +0100", "2026-10-25 00:00:00 +0200", "2026-10-26 00:00:00 +0100"},
		{"day", berlin, "2", "2026-03-29 03:00:00 +0200", "2026-03-29 03:00:00 +0200", "2026-03-30 02:00:00 +0200"},
		{"day", berlin, "2", "2026-03-29 01:59:59 +0100", "2026-03-28 02:00:00 +0100", "2026-03-29 03:00:00 +0200"},
		{"day", berlin, "2", "2026-10-25 02:00:00 +0200", "2026-10-25 02:00:00 +0200", "2026-10-26 02:00:00 +0100"},
		{"day", berlin, "2", "2026-10-25 02:00:00 +0100", "2026-10-25 02:00:00 +0200", "2026-10-26 02:00:00 +0100"},
		{"day", newYork, "2", "2026-03-08 12:00:00 -0400", "2026-03-08 03:00:00 -0400", "2026-03-09 02:00:00 -0400"},
		{"day", newYork, "1", "2026-11-01 01:30:00 -0500", "2026-11-01 01:00:00 -0400", "2026-11-02 01:00:00 -0500"},
		// Half an hour.
		{"day", lordHowe, "2", "2026-10-04 12:00:00 +1100", "2026-10-04 02:30:00 +1100", "2026-10-05 02:00:00 +1100"},
		{"day", lordHowe, "2", "2026-04-05 01:45:00 +1030", "2026-04-04 02:00:00 +1100", "2026-04-05 02:00:00 +1030"},
		// In 1986 clocks in Kathmandu were put forward by a quarter of an hour, at midnight.
		{"day", kathmandu, "", "1986-01-01 00:15:00 +0545", "1986-01-01 00:15:00 +0545", "1986-01-02 00:00:00 +0545"},
		{"week", "", "", "2026-03-01 23:59:59 +0000", "2026-02-23 00:00:00 +0000", "2026-03-02 00:00:00 +0000"},
		{"week", "", "Sunday", "2026-03-01 00:00:00 +0000", "2026-03-01 00:00:00 +0000", "2026-03-08 00:00:00 +0000"},
		{"week", berlin, "wednesday", "2026-03-30 00:00:00 +0200", "2026-03-25 00:00:00 +0100", "2026-04-01 00:00:00 +0200"},
		{"month", "", "", "2026-02-28 23:59:59 +0000", "2026-02-01 00:00:00 +0000", "2026-03-01 00:00:00 +0000"},
		{"month", berlin, "15", "2026-03-14 23:59:59 +0100", "2026-02-15 00:00:00 +0100", "2026-03-15 00:00:00 +0100"},
		{"month", berlin, "15", "2026-03-15 00:00:00 +0100", "2026-03-15 00:00:00 +0100", "2026-04-15 00:00:00 +0200"},
		{"month", "", "31", "2026-02-28 00:00:00 +0000", "2026-02-28 00:00:00 +0000", "2026-03-31 00:00:00 +0000"},
		{"month", "", "31", "2026-02-27 23:59:59 +0000", "2026-01-31 00:00:00 +0000", "2026-02-28 00:00:00 +0000"},
		{"month", "", "30", "2028-02-29 00:00:00 +0000", "2028-02-29 00:00:00 +0000", "2028-03-30 00:00:00 +0000"},
		{"month", "", "29", "2027-03-01 00:00:00 +0000", "2027-02-28 00:00:00 +0000", "2027-03-29 00:00:00 +0000"},
		{"month", "", "31", "2026-05-01 00:00:00 +0000", "2026-04-30 00:00:00 +0000", "2026-05-31 00:00:00 +0000"},
		{"year", "", "", "2026-12-31 23:59:59 +0000", "2026-01-01 00:00:00 +0000", "2027-01-01 00:00:00 +0000"},
		{"year", "Europe/London", "04-06", "2026-04-05 23:59:59 +0100", "2025-04-06 00:00:00 +0100", "2026-04-06 00:00:00 +0100"},
		{"year", newYork, "02-29", "2027-02-28 00:00:00 -0500", "2027-02-28 00:00:00 -0500", "2028-02-29 00:00:00 -0500"},
		// In Apia, 30 December 2011 was left out: it is no window; and the window of 31 December would end after six hours, so the next one is part of it.
		{"day", "Pacific/Apia", "", "2011-12-29 12:00:00 -1000", "2011-12-29 00:00:00 -1000", "2011-12-31 00:00:00 +1400"},
		{"day", "Pacific/Apia", "6", "2011-12-31 12:00:00 +1400", "2011-12-31 00:00:00 +1400", "2012-01-01 06:00:00 +1400"},
	} {
		calendar := mustBe(t, c.per, c.zone, c.anchor)
		at, want := moment(t, c.at), [2]int64{moment(t, c.start), moment(t, c.end)}
		if start, end := calendar.Window(at); start != want[0] || end != want[1] {
			t.Errorf("%s: %s lies in the window from %s to %s, want %s to %s", calendar, c.at,
				time.Unix(0, start).UTC(), time.Unix(0, end).UTC(), c.start, c.end)
		}
	}
}

// wall is what a clock shows, in a form whose order is that of time.
func wall(at time.Time) string { return at.Format("2006-01-02 15:04:05") }

// lastDay is that of a month, by the rule as children learn it.
func lastDay(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// begins says whether a window begins on a day, and what clocks show then.
func begins(c Calendar, day time.Time) (shown string, ok bool) {
	y, m, d := day.Year(), int(day.Month()), day.Day()
	date := day.Format("2006-01-02")
	switch c.per {
	case "day":
		return fmt.Sprintf("%s %02d:00:00", date, c.anchor.hour), true
	case "week":
		return date + " 00:00:00", strings.ToLower(day.Weekday().String()) == weekdays[c.anchor.weekday]
	case "month":
		return date + " 00:00:00", d == min(int(c.anchor.day), lastDay(y, m))
	}
	return date + " 00:00:00", m == int(c.anchor.month) && d == min(int(c.anchor.day), lastDay(y, m))
}

// slowly finds the window of a time by looking at a clock: day after day, and on a day on which one begins, minute after minute.
func slowly(c Calendar, at time.Time) (start, end time.Time) {
	reach := map[string]int{"day": 4, "week": 10, "month": 35, "year": 370}[c.per]
	local := at.In(c.zone.location)
	noon := time.Date(local.Year(), local.Month(), local.Day(), 12, 0, 0, 0, time.UTC)
	for day := noon.AddDate(0, 0, -reach); day.Before(noon.AddDate(0, 0, reach)); day = day.AddDate(0, 0, 1) {
		shown, ok := begins(c, day)
		if !ok {
			continue
		}
		minute := day.Add(-40 * time.Hour)
		for wall(minute.In(c.zone.location)) < shown {
			minute = minute.Add(time.Minute)
		}
		if minute.After(at) {
			return start, minute
		}
		start = minute
	}
	return start, end
}

// Near every change of the clocks, month's end and leap day the windows are those of somebody who looks at a clock.
func TestWindowsAreThoseOfAClock(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		zone := []string{berlin, newYork, lordHowe, kathmandu, "UTC", "Europe/London", "Asia/Tehran", "America/Sao_Paulo"}[r.IntN(8)]
		per := pers[r.IntN(4)]
		a := map[string]string{
			"day": fmt.Sprint(r.IntN(24)), "week": weekdays[r.IntN(7)], "month": fmt.Sprint(1 + r.IntN(31)),
			"year": fmt.Sprintf("%02d-%02d", 1+r.IntN(12), 1+r.IntN(28)),
		}[per]
		if r.IntN(4) == 0 {
			a = map[string]string{"day": "2", "week": "sunday", "month": fmt.Sprint(29 + r.IntN(3)), "year": "02-29"}[per]
		}
		c := mustBe(t, per, zone, a)
		at := time.Unix(r.Int64N(90*365*24*3600), r.Int64N(1e9)) // up to 2060
		if _, change := at.In(c.zone.location).ZoneBounds(); r.IntN(2) == 0 && !change.IsZero() {
			at = change.Add(time.Duration(r.Int64N(int64(50*time.Hour))) - 25*time.Hour).Truncate(time.Second)
		}
		wantStart, wantEnd := slowly(c, at)
		if start, end := c.Window(at.UnixNano()); start != wantStart.UnixNano() || end != wantEnd.UnixNano() {
			t.Fatalf("seed %d: %s: %s lies in the window from %s to %s, a clock shows %s to %s", seed, c, at.In(c.zone.location),
				time.Unix(0, start).In(c.zone.location), time.Unix(0, end).In(c.zone.location), wantStart.In(c.zone.location), wantEnd.In(c.zone.location))
		}
	}
}

// In every zone of the database, at every change of its clocks until 2050, windows follow one another and keep their bounds.
func TestWindowsOfAllZones(t *testing.T) {
	if _, err := zones.find("UTC"); err != nil {
		t.Fatal(err)
	}
	names := slices.Clone(zones.names)
	if len(names) < 590 {
		t.Fatalf("the copy of the database has %d zones only", len(names))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range names {
		location := mustBe(t, "day", name, "").zone.location
		for at := time.Unix(0, 0).In(location); at.Year() < 2050; {
			for _, per := range pers {
				a := map[string]string{"day": fmt.Sprint(r.IntN(24)), "week": weekdays[r.IntN(7)], "month": fmt.Sprint(1 + r.IntN(31)), "year": at.Format("01-02")}[per]
				c := mustBe(t, per, name, a)
				t0 := at.UnixNano()
				start, end := c.Window(t0)
				next, after := c.Window(end)
				before, again := c.Window(start - 1)
				if start > t0 || end <= t0 || next != end || again != start {
					t.Fatalf("%s at %s: windows from %d to %d, %d to %d, %d to %d", c, at, before, again, start, end, next, after)
				}
				for _, length := range []int64{end - start, after - next, again - before} {
					if length < c.Shortest() || length > c.Longest() {
						t.Fatalf("%s at %s: a window of %v, the shortest is %v and the longest %v", c, at, time.Duration(length),
							time.Duration(c.Shortest()), time.Duration(c.Longest()))
					}
				}
			}
			_, change := at.ZoneBounds()
			if change.IsZero() {
				break
			}
			if !change.After(at) { // see first
				change = at.Add(24 * time.Hour)
			}
			at = change
		}
	}
}

// What the machine and the process say of time zones is of no meaning.
func TestTheProcessHasAnotherZone(t *testing.T) {
	for _, zone := range []string{"Asia/Tokyo", "Pacific/Apia", "America/New_York"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWindowsByTable$", "-test.v")
		cmd.Env = append(os.Environ(), "TZ="+zone, "ZONEINFO="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestWindowsByTable") {
			t.Errorf("in %s: %v\n%s", zone, err, out)
		}
	}
}

func TestEqualCalendars(t *testing.T) {
	a, b := mustBe(t, "month", berlin, "015"), mustBe(t, "month", berlin, "15")
	if a != b || a.String() != "month/15/Europe/Berlin" {
		t.Errorf("%s and %s differ", a, b)
	}
	for _, other := range []Calendar{mustBe(t, "month", berlin, ""), mustBe(t, "month", "", "15"), mustBe(t, "day", berlin, "15")} {
		if other == a || other.String() == a.String() {
			t.Errorf("%s equals %s", other, a)
		}
	}
	for want, c := range map[string]Calendar{
		"day/0/UTC": mustBe(t, "day", "", ""), "week/monday/UTC": mustBe(t, "week", "", ""),
		"month/1/UTC": mustBe(t, "month", "", ""), "year/01-01/UTC": mustBe(t, "year", "", ""),
	} {
		if c.String() != want {
			t.Errorf("got %s, want %s", c, want)
		}
	}
}

func TestCalendarInvalid(t *testing.T) {
	for _, c := range []struct{ per, zone, anchor, field, says string }{
		{"hour", "", "", "per", "use day, week, month or year; for hours and less write window, such as window: 1h"},
		{"minute", "", "", "per", "for hours and less write window"},
		{"months", "", "", "per", `did you mean "month"?`},
		{"quarter", "", "", "per", "use day, week, month or year"},
		{"day", "Europe/Berln", "", "timezone", `did you mean "Europe/Berlin"?`},
		{"day", "europe/berlin", "", "timezone", `did you mean "Europe/Berlin"?`},
		{"day", "berlin", "", "timezone", `did you mean "Europe/Berlin"?`},
		{"day", "Local", "", "timezone", "use one of the IANA database"},
		{"day", "+02:00", "", "timezone", "use one of the IANA database"},
		{"day", "../../etc/passwd", "", "timezone", "use one of the IANA database"},
		{"day", "Europe/", "", "timezone", "is not the name of a time zone"},
		{"day", "", "24", "anchor", "use 0 to 23"},
		{"day", "", "-1", "anchor", "use 0 to 23"},
		{"day", "", "monday", "anchor", "use 0 to 23"},
		{"week", "", "3", "anchor", "use monday, tuesday,"},
		{"week", "", "wednesda", "anchor", `did you mean "wednesday"?`},
		{"month", "", "0", "anchor", "use 1 to 31"},
		{"month", "", "32", "anchor", "use 1 to 31"},
		{"month", "", "04-06", "anchor", "use 1 to 31"},
		{"year", "", "15", "anchor", "such as 04-06"},
		{"year", "", "02-30", "anchor", "such as 04-06"},
		{"year", "", "4-6", "anchor", "such as 04-06"},
	} {
		_, err := New(c.per, c.zone, c.anchor)
		var wrong *Error
		if !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(wrong.Problem, c.says) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// A zone that is none costs little, however long its name is, and others find theirs meanwhile.
func TestUnknownZoneCostsLittle(t *testing.T) {
	for _, name := range []string{"Europe/Berlni", strings.Repeat("a", 1000), strings.Repeat("İ", 1000)} {
		if _, err := zones.find(name); err == nil {
			t.Fatalf("there is a zone %s", name)
		}
		if made := testing.AllocsPerRun(5, func() { _, _ = zones.find(name) }); made > 300 {
			t.Errorf("%.20s: %v allocations", name, made)
		}
	}
}

// At the ends of the range of time windows are cut off, and nothing overflows.
func TestWindowsAtTheEndsOfTime(t *testing.T) {
	for _, per := range pers {
		for _, zone := range []string{"", berlin, newYork} {
			c := mustBe(t, per, zone, "")
			for _, at := range []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, math.MaxInt64 - 1, math.MaxInt64} {
				if start, end := c.Window(at); start > at || end < at {
					t.Errorf("%s at %d: %d to %d", c, at, start, end)
				}
			}
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add("month", berlin, "15", int64(1))
	f.Add("year", newYork, "02-29", int64(math.MaxInt64))
	f.Add("week", lordHowe, "sunday", int64(math.MinInt64))
	f.Add("day", "../x", "24", int64(0))
	f.Add("month", strings.Repeat("R", 4000), "1", int64(-72))
	f.Fuzz(func(t *testing.T, per, zone, anchor string, at int64) {
		c, err := New(per, zone, anchor)
		if err != nil {
			if wrong := (*Error)(nil); !errors.As(err, &wrong) {
				t.Fatal(err)
			}
			return
		}
		if again, err := New(c.Per(), c.Timezone(), c.Anchor()); err != nil || again != c {
			t.Fatalf("%s is read back as %s, %v", c, again, err)
		}
		if start, end := c.Window(at); start > at || end < at {
			t.Fatalf("%s at %d: %d to %d", c, at, start, end)
		}
	})
}

func BenchmarkWindow(b *testing.B) {
	c, err := New("month", berlin, "15")
	if err != nil {
		b.Fatal(err)
	}
	at := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	for b.Loop() {
		c.Window(at)
	}
}
