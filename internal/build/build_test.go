package build

import (
	"runtime/debug"
	"testing"
	"time"
)

func TestWhatGoKnows(t *testing.T) {
	known := &debug.BuildInfo{Main: debug.Module{Version: "v0.2.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.time", Value: "2026-11-28T05:06:07+01:00"}, {Key: "vcs.modified", Value: "true"},
	}}
	at := time.Date(2026, 11, 28, 4, 6, 7, 0, time.UTC)
	if got := of(known); got.Version != "v0.2.0" || got.Commit != "c0ffee" || !got.Date.Equal(at) || !got.Modified || got.Go == "" || got.System == "" {
		t.Errorf("%+v", got)
	}
	if got := of(nil); got.Version != "(devel)" || got.Commit != "" || !got.Date.IsZero() || got.Modified {
		t.Errorf("of nothing: %+v", got)
	}
	known.Settings[1].Value = "yesterday"
	if got := of(known); !got.Date.IsZero() {
		t.Errorf("a date that is none: %+v", got)
	}
}

func TestStamps(t *testing.T) {
	t.Cleanup(func() { version, commit, date, modified = "", "", "", "" })
	version, commit, date, modified = "v0.1.0", "abc", "2026-11-28T00:00:00Z", "false"
	known := &debug.BuildInfo{Main: debug.Module{Version: "v9.9.9"}, Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}}
	want := Info{Version: "v0.1.0", Commit: "abc", Date: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), Go: of(nil).Go, System: of(nil).System}
	if got := of(known); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
