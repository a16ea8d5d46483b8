package nemesis

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// edgeWork is what gateways have done by themselves, as their metrics say before they are killed or stopped. Faults of gateways prove nothing of leased limits
// where the gateways hold none.
type edgeWork struct {
	mu  sync.Mutex
	sum map[string]float64 // by series
}

// The series that are told.
const (
	decidedHere  = `jeton_edge_checks_total{by="here"}`
	decidedThere = `jeton_edge_checks_total{by="owner"}`
	leasesGiven  = `jeton_edge_leases_total{outcome="given"}`
	leasesNot    = `jeton_edge_leases_total{outcome="refused"}`
	dropped      = `jeton_edge_dropped_total`
)

// add adds what a gateway says of this life. One that does not answer soon is left out.
func (w *edgeWork) add(admin string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", http.NoBody)
	if err != nil {
		return
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer a.Body.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sum == nil {
		w.sum = map[string]float64{}
	}
	for lines := bufio.NewScanner(a.Body); lines.Scan(); {
		series, value, ok := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			w.sum[series] += n
		}
	}
}

// here is how many checks gateways have decided.
func (w *edgeWork) here() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sum[decidedHere]
}

// String is a line about it.
func (w *edgeWork) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("of the checks of leased limits %.0f were decided at the gateways, by %.0f leases, and %.0f by owners; %.0f leases were refused, and %.0f buckets dropped",
		w.sum[decidedHere], w.sum[leasesGiven], w.sum[decidedThere], w.sum[leasesNot], w.sum[dropped])
}
