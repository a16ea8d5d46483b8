package activity

import (
	"encoding/json"
	"testing"
	"time"
)

// A gateway leaves limits out where there are too many to tell. What it has counted of one of them before, when it tells it again, is not of the
// last two seconds.
func TestGatewayTellsALimitAgain(t *testing.T) {
	for what, test := range map[string]struct {
		partial bool
		want    float64
	}{"left out": {true, 0}, "new": {false, 500}} {
		var gs gateways
		for i, g := range []Gateway{
			{Partial: test.partial, FailedOpen: map[string]float64{"other": 10}},
			{Partial: test.partial, FailedOpen: map[string]float64{"other": 30, "l": 1000}, FailedClosed: map[string]float64{"l": 1000}, Limits: map[string]Counts{"l": {Allowed: 1000, Denied: 1000}}},
		} {
			g.Name, g.Started = "g", start
			text, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			if err := gs.tell(text, start.Add(time.Duration(i)*2*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		now := start.Add(2 * time.Second)
		v := Compare(Look{}, Look{At: now, Nodes: []Node{{Name: "a", Now: now, Gateways: gs.told(now)}}})
		for i := range v.Limits {
			l, want := &v.Limits[i], test.want
			switch {
			case l.Name == "other" && l.FailedOpen != 10:
				t.Errorf("%s: of a limit that it tells each time: %+v", what, l)
			case l.Name == "l" && (l.FailedOpen != want || l.FailedClosed != want || l.Allowed != want || l.Denied != want):
				t.Errorf("%s: %+v, want %v of each", what, l, want)
			}
		}
	}
}
