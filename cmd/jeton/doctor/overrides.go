package doctor

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/cluster"
)

// overrides are those that operators have set: which end soon, and which were perhaps forgotten.
func overrides(j *judge, c *facts.Cluster) {
	switch {
	case c.View.Cluster == nil:
		return
	case c.OverridesUnknown != "":
		j.unknown("overrides", "which there are: %s", c.OverridesUnknown)
		return
	}
	j.sees("overrides", "%d", len(c.Overrides))
	var ends, stands, vain []string
	for i := range c.Overrides {
		o := &c.Overrides[i]
		set := !o.Document && !o.At.IsZero()
		switch {
		case o.NoEffect != "":
			vain = append(vain, nameOf(o)+" ("+o.NoEffect+")")
		case set && !o.Until.IsZero() && o.Until.Sub(j.at) < overrideWarns && o.Until.Sub(o.At) > overrideWarns:
			ends = append(ends, nameOf(o)+" in "+plain.Duration(o.Until.Sub(j.at).Truncate(time.Minute)))
		case set && o.Until.IsZero() && j.at.Sub(o.At) > overrideOld:
			stands = append(stands, fmt.Sprintf("%s, set by %s at %s", nameOf(o), o.Who, o.At.UTC().Format(time.DateOnly)))
		}
	}
	if len(ends) > 0 {
		j.notice(overrideEnds, finding{what: "overrides end soon: " + few(ends), do: "Set them again if they are still needed (jeton limits override set): after that, the limits count."})
	}
	if len(stands) > 0 {
		j.notice(overrideStands, finding{what: "overrides without an end stand for long: " + few(stands), do: "Write what is to stay into the limits document, and take the rest away (jeton limits override unset)."})
	}
	if len(vain) > 0 {
		j.notice(overrideVain, finding{what: "overrides have no effect: " + few(vain), do: "Take them away, or set them anew for the limit as it is now."})
	}
}

// nameOf names an override.
func nameOf(o *cluster.OverrideStatus) string { return o.Limit + " " + strconv.Quote(o.Key) }
