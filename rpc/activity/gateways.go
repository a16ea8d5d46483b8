package activity

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/internal/plain"
)

// What a node keeps of gateways: so many, each for so long after it told something, and of so many bytes. One that has told nothing for silentAfter
// is silent: its place is free for others.
const (
	MaxGateways = 64
	GatewayFor  = 10 * time.Minute
	MaxTold     = 16 << 10

	silentAfter = 10 * time.Second
)

// What a gateway may tell: texts of so many bytes, requests of so many outcomes, counters and bounds in seconds up to so much. Sums and
// rates of them are numbers that JSON has.
const (
	maxName     = 255
	maxOutcomes = 32
	maxCount    = 1 << 53
	maxBound    = 1e6
)

// address is what is kept as one: no character of it means something to a shell, in which people run commands that have it.
var address = regexp.MustCompile(`\A(https?://)?(\[[0-9A-Fa-f:.]+(%[0-9A-Za-z]+)?\]|[0-9A-Za-z_][0-9A-Za-z._-]*)(:[0-9]{1,5})?/?\z`)

// errManyGateways refuses a gateway that there is no place for.
var errManyGateways = fmt.Errorf("%d gateways tell this node what they do, and it keeps no more", MaxGateways)

// gateways are those that have told this node lately what they do.
type gateways struct {
	mu  sync.Mutex
	all map[string]Gateway // by name
}

// tell takes in what a gateway says.
func (gs *gateways) tell(text []byte, now time.Time) error {
	if len(text) > MaxTold {
		return fmt.Errorf("%d bytes are too many: a gateway may tell %d", len(text), MaxTold)
	}
	var g Gateway
	if err := json.Unmarshal(text, &g); err != nil {
		return fmt.Errorf("reading what a gateway tells: %w", err)
	}
	if err := g.check(); err != nil {
		return err
	}
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.forget(now)
	was, known := gs.all[g.Name]
	if !known && !gs.makeRoom(now) {
		return errManyGateways
	}
	if g.Leaves { // which is kept: other nodes may have heard of it before
		g, known = Gateway{Name: g.Name, Leaves: true}, false
	}
	g.Now, g.Before = now, nil
	if known {
		was.Before = nil
		g.Before = &was
	}
	if gs.all == nil {
		gs.all = map[string]Gateway{}
	}
	gs.all[g.Name] = g
	return nil
}

// makeRoom says whether there is room for one more gateway. It takes the place of one that has left, or of the one that is silent for longest,
// if need be.
func (gs *gateways) makeRoom(now time.Time) bool {
	if len(gs.all) < MaxGateways {
		return true
	}
	silent := slices.MinFunc(slices.Collect(maps.Values(gs.all)), func(a, b Gateway) int {
		switch {
		case a.Leaves == b.Leaves:
			return a.Now.Compare(b.Now)
		case a.Leaves:
			return -1
		}
		return 1
	})
	if !silent.Leaves && now.Sub(silent.Now) <= silentAfter {
		return false
	}
	delete(gs.all, silent.Name)
	return true
}

// forget forgets gateways that tell nothing any more.
func (gs *gateways) forget(now time.Time) {
	maps.DeleteFunc(gs.all, func(_ string, g Gateway) bool { return now.Sub(g.Now) > GatewayFor })
}

// told are the gateways, by name.
func (gs *gateways) told(now time.Time) (all []Gateway) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.forget(now)
	for _, name := range slices.Sorted(maps.Keys(gs.all)) {
		all = append(all, gs.all[name])
	}
	return all
}

// check says what is wrong with what a gateway tells, and cuts its texts.
func (g *Gateway) check() error {
	g.Name, g.Version = cut(g.Name), cut(g.Version)
	if len(g.Admin) > maxName || !address.MatchString(g.Admin) {
		g.Admin = ""
	}
	if g.Name == "" {
		return errors.New("a gateway without a name")
	}
	if n := len(g.Requests); n > maxOutcomes {
		return fmt.Errorf("requests have %d outcomes: a gateway may tell %d", n, maxOutcomes)
	}
	for _, of := range []map[string]float64{g.Requests, g.FailedOpen, g.FailedClosed} {
		for name, n := range of {
			if !counts(n) || cut(name) != name {
				return fmt.Errorf("%.40q counts %v", name, n)
			}
		}
	}
	for name, c := range g.Limits {
		if !counts(c.Allowed) || !counts(c.Denied) || !counts(c.Spared) || c.Errors != 0 || cut(name) != name {
			return fmt.Errorf("%.40q counts %+v", name, c)
		}
	}
	return g.Latency.check()
}

// counts says whether n can be what a counter has counted.
func counts(n float64) bool { return n >= 0 && n <= maxCount }

// check says what is wrong with a histogram that is told.
func (h Histogram) check() error {
	if len(h.Bounds) == 0 && len(h.Counts) == 0 {
		return nil
	}
	if len(h.Bounds) == 0 || len(h.Counts) != len(h.Bounds)+1 {
		return errors.New("latency has other counts than bounds")
	}
	below := 0.0
	for _, bound := range h.Bounds {
		if !(bound > below && bound <= maxBound) {
			return fmt.Errorf("latency has bounds that do not rise from 0 to %v at most", float64(maxBound))
		}
		below = bound
	}
	for _, n := range h.Counts {
		if !counts(n) {
			return fmt.Errorf("latency counts %v", n)
		}
	}
	return nil
}

// cut is a text that may be shown, and is not too long.
func cut(text string) string {
	if text = plain.Text(text); len(text) > maxName {
		text = strings.ToValidUTF8(text[:maxName], "")
	}
	return text
}
