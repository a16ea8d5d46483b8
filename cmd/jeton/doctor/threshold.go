package doctor

import "time"

// From when on something is a finding, besides what package activity has.
const (
	// fsyncHalfWarns is a time that half of all fsyncs take: a decision that needs new line waits for one on two of three nodes.
	fsyncHalfWarns = 20 * time.Millisecond
	// fsyncQuickest is less than a call of the kernel and a drive's answer take together.
	fsyncQuickest = 10 * time.Microsecond
	// rotation is about a turn of a disk that turns.
	rotation = time.Millisecond
	// filesWarn is a share of all files that a file system can hold.
	filesWarn = 0.05
	// descriptorsWarn are open files: a node keeps 2,048 for its files and for other nodes, and shares the rest out among callers.
	descriptorsWarn = 4096
	// descriptorsUsed is a share of them.
	descriptorsUsed = 0.8
	// memoryRoom is a share of what there is that the node must leave to others.
	memoryRoom = 0.05
	// processorsWarn is a quota, and throttledWarns a share of at least enoughPeriods periods in which it was used up.
	processorsWarn = 1
	throttledWarns = 0.05
	enoughPeriods  = 100
	// certificateWarns is before a certificate ends, as the alert JetonCertificateEnds has it; within certificateStops it is critical.
	certificateWarns = 14 * 24 * time.Hour
	certificateStops = 2 * 24 * time.Hour
	// unusedAfter is for how long each node must have run before a limit counts as never used.
	unusedAfter = time.Hour
	// enoughDenied are denials, without which a limit that has allowed nothing has seen too little.
	enoughDenied = 20
	// overrideWarns is before an override ends that was set for longer than that; overrideOld is for how long one stands that has no end.
	overrideWarns = 24 * time.Hour
	overrideOld   = 90 * 24 * time.Hour
	// mostNamed is how many things a finding names.
	mostNamed = 5
)
