package limit

import "time"

// A Report is what an edge says when it reports what it has spent of one bucket: see [Request.Charge].
type Report struct {
	Edge   uint64        // tells the edge from others: a random number, not 0
	Number uint64        // tells the report from others of the edge for this bucket, not 0: one that is repeated is charged once, as long as its owner remembers it
	Age    time.Duration // how long ago the edge began to spend it
	Asked  int64         // for how many tokens the edge was asked since its last report, be they denied
}

// A Reported is what the owner of a bucket answers to a Report.
type Reported struct {
	Spent int64 // up to where the line of the bucket is spent, rounded up, by the clock of the owner
	Now   int64 // that clock
	Share int64 // how much of what is left the edge may take, in [ShareWhole] parts: what it was asked for of what all edges were asked for lately
	// Scarce says that all edges were asked for more lately than comes back.
	Scarce bool
}

// ShareWhole is the Share of an edge that may take all.
const ShareWhole = 1_000_000

// OldestReport is how old what is reported can be, beyond the time between two reports: older is charged as if it were so old.
const OldestReport = 2 * time.Second

// validate checks r by itself.
func (r *Report) validate() error {
	switch {
	case r.Edge == 0:
		return &FieldError{Field: "report.edge", Problem: "is missing: say by a random number which edge reports"}
	case r.Number == 0:
		return &FieldError{Field: "report.number", Problem: "is missing: number the reports of the edge for this bucket"}
	case r.Age < 0:
		return &FieldError{Field: "report.age", Problem: durationText(r.Age) + " is negative: nothing is reported before it is spent"}
	case r.Asked < 0 || r.Asked > MaxCount:
		return &FieldError{Field: "report.asked", Problem: "is not from 0 to the greatest capacity"}
	}
	return nil
}
