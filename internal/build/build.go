// Package build tells which jeton a binary is: its version, and the commit that it was built from.
//
// A release stamps them into the binary by -ldflags (see .goreleaser.yaml). A binary that go build or go install made has them from
// Go, as far as Go knows them. Start with [This].
package build

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"time"
)

// What a release stamps: -X github.com/jeton-dev/jeton/internal/build.version=v0.1.0, and so on.
var (
	version  string // with its v
	commit   string // all its digits
	date     string // of the commit, RFC 3339
	modified string // true or false
)

// An Info is what a binary knows of itself.
type Info struct {
	Version  string    `json:"version"`          // v0.1.0, or (devel)
	Commit   string    `json:"commit,omitempty"` // empty if it is not known
	Date     time.Time `json:"date,omitzero"`    // of the commit, in UTC
	Modified bool      `json:"modified"`         // the source differed from the commit
	Go       string    `json:"go"`
	System   string    `json:"system"` // linux/amd64
}

// This is the Info of this binary.
func This() Info {
	info, _ := debug.ReadBuildInfo()
	return of(info)
}

// of is the Info of a binary of which Go knows this much, or nothing. What was stamped rules.
func of(known *debug.BuildInfo) Info {
	i := Info{Version: "(devel)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if known != nil {
		if known.Main.Version != "" {
			i.Version = known.Main.Version
		}
		for _, s := range known.Settings {
			i.fill(s.Key, s.Value)
		}
	}
	if version == "" {
		return i
	}
	i.Version, i.Commit = version, commit
	i.fill("vcs.time", date)
	i.fill("vcs.modified", modified)
	return i
}

// fill takes in what Go calls key. What cannot be read stays unknown.
func (i *Info) fill(key, value string) {
	switch key {
	case "vcs.revision":
		i.Commit = value
	case "vcs.time":
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			i.Date = at.UTC()
		}
	case "vcs.modified":
		i.Modified, _ = strconv.ParseBool(value)
	}
}
