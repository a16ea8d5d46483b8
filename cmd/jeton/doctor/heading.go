package doctor

import (
	"regexp"
	"strings"
)

// A heading is one of docs/doctor.md, which says more about a finding.
type heading string

// Of this machine.
const (
	optionsWrong    heading = "The options are wrong"
	folderWrong     heading = "The data folder cannot be used"
	folderRenewed   heading = "The data folder is being emptied"
	diskSlow        heading = "The disk is slow"
	fsyncQuick      heading = "An fsync is quicker than a disk can be"
	fsyncFails      heading = "The data folder cannot be written to"
	noDisk          heading = "The data folder is in memory"
	layer           heading = "The data folder is in a container's own layer"
	elsewhere       heading = "The data folder is on another machine"
	unsafeMount     heading = "The mount lets a power cut lose writes"
	diskFull        heading = "The disk is nearly full"
	fewFiles        heading = "The file system can hold few more files"
	fewDescriptors  heading = "Few files may be open"
	muchMemory      heading = "The node may take more memory than there is"
	memoryKilled    heading = "The kernel has killed for want of memory"
	littleProcessor heading = "The node gets little of a processor"
	clockFree       heading = "No time service sets the clock"
	clockOff        heading = "The clock is off"
	clockSlow       heading = "Reading the clock is slow"
	portTaken       heading = "A port is taken"
	portWrong       heading = "The node cannot listen at an address"
	otherOptions    heading = "The node runs with other options"
	joinUnresolved  heading = "A host of --join has no address"
	fileWrong       heading = "A file that an option names is wrong"
	fileClosed      heading = "The node's user may not read a file"
)

// Of a cluster, and of both.
const (
	memoryOnly      heading = "Decisions are kept in memory only"
	certificateEnds heading = "A certificate ends soon"
	notReached      heading = "A node cannot be reached from here"
	gatewayClosed   heading = "A named gateway cannot be reached from here"
	pathBroken      heading = "Nodes do not reach one another"
	pathUntold      heading = "A node does not say what it reaches"
	limitUnused     heading = "A limit is never used"
	limitDenies     heading = "A limit denies everything"
	oneZone         heading = "One zone has a majority"
	someZones       heading = "Some nodes have no zone"
	fewReplicas     heading = "Registers are kept on one node"
	fewVoters       heading = "Few nodes vote"
	levelBehind     heading = "The level can be raised"
	draining        heading = "A node is being drained"
	overrideEnds    heading = "An override ends soon"
	overrideStands  heading = "An override stands for long"
	overrideVain    heading = "An override has no effect"
	passedOpen      heading = "Checks have passed without a decision"
)

// headings are all of them, in the order of the page.
func headings() []heading {
	return []heading{
		optionsWrong, folderWrong, folderRenewed, diskSlow, fsyncQuick, fsyncFails, noDisk, layer, elsewhere, unsafeMount, diskFull, fewFiles, fewDescriptors, muchMemory,
		memoryKilled, littleProcessor, clockFree, clockOff, clockSlow, portTaken, portWrong, otherOptions, joinUnresolved, fileWrong, fileClosed,
		memoryOnly, certificateEnds, notReached, gatewayClosed, pathBroken, pathUntold, limitUnused, limitDenies, oneZone, someZones, fewReplicas, fewVoters, levelBehind, draining,
		overrideEnds, overrideStands, overrideVain, passedOpen,
	}
}

var unspoken = regexp.MustCompile(`[^a-z0-9 -]`)

// anchor is the heading as links write it.
func (h heading) anchor() string {
	return "doctor.md#" + strings.ReplaceAll(unspoken.ReplaceAllString(strings.ToLower(string(h)), ""), " ", "-")
}
