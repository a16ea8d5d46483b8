package simulate

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Report is what the candidates would have done.
type Report struct {
	Log        Tally     `json:"log"`
	Checks     int64     `json:"checks"` // that were decided
	Tokens     int64     `json:"tokens"` // what they cost together
	Keys       int       `json:"keys"`
	From       time.Time `json:"from"`          // the first check
	To         time.Time `json:"to"`            // the last one
	Key        string    `json:"key,omitempty"` // the only one, if there is only one
	Step       Step      `json:"step"`          // how long a piece of time is
	Times      []Piece   `json:"times"`         // what was asked, piece by piece, without gaps
	Candidates []Result  `json:"candidates"`    // sorted by name
}

// A Piece of time begins at At.
type Piece struct {
	At     time.Time `json:"at"`
	Checks int64     `json:"checks"`
}

// A Result is what one candidate would have done.
type Result struct {
	Name           string              `json:"name"`
	Limit          limit.Limit         `json:"limit"`
	Admitted       int64               `json:"admitted"` // checks
	Denied         int64               `json:"denied"`   // checks
	AdmittedTokens int64               `json:"admitted_tokens"`
	DeniedTokens   int64               `json:"denied_tokens"`
	Never          int64               `json:"never"`                  // denied checks whose cost is above the capacity
	Penalties      int64               `json:"penalties,omitempty"`    // how often buckets were closed
	Closed         int64               `json:"closed,omitempty"`       // denied checks of buckets that were closed
	KeysDenied     int                 `json:"keys_denied"`            // keys that were denied at least once
	LongestWait    Step                `json:"longest_wait"`           // that a denial told
	Delay          *Delay              `json:"delayed,omitempty"`      // admitted checks that waited; none where the limit has no wait
	Top            []Key               `json:"most_denied"`            // the keys that were denied most
	TopDelayed     []Key               `json:"most_delayed,omitempty"` // the keys whose checks waited most often
	DeniedAt       []int64             `json:"denied_at"`              // denied checks of each piece of Times
	fields         []limit.FieldChange // of the limit, as a document writes them
}

// A Delay is what became of the checks that waited.
type Delay struct {
	Checks  int64 `json:"checks"`
	Median  Step  `json:"median"`
	P99     Step  `json:"p99"` // 99 in a hundred were delayed no longer
	Longest Step  `json:"longest"`
}

// A Key is one that a candidate denied or delayed, with its checks.
type Key struct {
	Key      string `json:"key"`
	Admitted int64  `json:"admitted"`
	Denied   int64  `json:"denied"`
	Delayed  int64  `json:"delayed,omitempty"` // admitted checks that waited
}

// A Step is a duration, in JSON a text such as "1m30s".
type Step time.Duration

// MarshalText is the form of JSON.
func (s Step) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// Share is which part of the checks the candidate denied.
func (r *Result) Share() float64 {
	if r.Denied == 0 {
		return 0
	}
	return float64(r.Denied) / float64(r.Admitted+r.Denied)
}
