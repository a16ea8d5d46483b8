package simulation

// A theme is what a scenario has very much of, besides all that is drawn: orders of events that need several things at once
// would be too rare without.
type theme int64

const (
	nervous    theme = iota // processes that crash again and again, under a hot load, with coarse clocks
	stranding               // nodes that are cut off while the members change
	forgetful               // disks that are put back from copies
	tardy                   // answers that are late by a little, and one replica with a floor; and nothing else goes wrong
	reforming               // changes of limits, and returns across them
	crowded                 // floods of invented keys, and little room for keys that are awake
	contending              // several owners of a busy key, which all reserve ahead
	erring                  // clocks that are wrong, one after the other, of nodes that are cut off in between
	plainly                 // nothing; and so are all that are drawn beyond, but for some
	ruinous                 // a majority lost for ever, and recoveries by force
	queueing                // checks that wait and callers that leave, by clocks that are right: what begins is judged to the token
)

func (t theme) String() string {
	return [...]string{"nervous", "stranding", "forgetful", "tardy", "reforming", "crowded", "contending", "erring", "plainly", "ruinous", "queueing"}[t]
}
