package clustertests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// known is the header of a client with an API key.
func known(int) http.Header { return http.Header{"X-Api-Key": {siteKey}} }

// burst sends more requests than the limit admits, one after the other, and holds what comes back against the promise:
// from a full bucket, as many as it holds are admitted and one for each second that it took, no fewer than it holds but for
// what was charged twice or for nothing, and never more. Everything said to the client must be right.
func (s *site) burst(address func(i int) string, header func(i int) http.Header) {
	s.Helper()
	s.refill()
	reached, admitted, undecided := s.reached.Load(), 0, 0
	start := time.Now()
	var denied []response
	bodies := 0                                                               // of denials
	for i := 0; i < siteRequests || bodies < 3 && i < 100*siteRequests; i++ { // a slow machine denies fewer of the first ones
		method, body := http.MethodGet, ""
		switch i % 5 {
		case 3:
			method, body = http.MethodPost, "a body that the gateway does not need"
		case 4:
			method = http.MethodHead
		}
		a := s.send(method, address(i), fmt.Sprintf("/items/%d?page=2", i), body, header(i))
		switch a.status {
		case http.StatusOK:
			admitted++
			if left := s.told(a); admitted == 1 && left != siteCapacity-1 && undecided == 0 && s.hedges() == 0 {
				s.Errorf("after the first request %d are left, want %d", left, siteCapacity-1)
			}
			if want := fmt.Sprintf("%s /items/%d?page=2", method, i); method != http.MethodHead && a.body != want {
				s.Errorf("the application got %q, want %q", a.body, want)
			}
		case http.StatusTooManyRequests:
			s.told(a)
			if denied = append(denied, s.refused(a, method)); method != http.MethodHead {
				bodies++
			}
		case http.StatusServiceUnavailable: // the machine has stalled, and the gateway took the node for dead
			if a.header.Get("Content-Type") != "application/problem+json" || a.header.Get("Retry-After") != "1" {
				s.Fatalf("request %d: %d %v %s: not from the gateway", i, a.status, a.header, a.body)
			}
			undecided++
			s.Logf("request %d: %d %s", i, a.status, a.body)
		default:
			s.Fatalf("request %d: %d %v %s", i, a.status, a.header, a.body)
		}
	}
	took := time.Since(start)
	// By 2·r·ε, the clocks of several processes on one machine being a few milliseconds apart.
	const epsilon = 25 * time.Millisecond
	most := siteCapacity + int((took+2*epsilon).Seconds()*siteRefill)
	if least := siteCapacity - s.hedges() - undecided; admitted < least || admitted > most {
		s.Errorf("%d were admitted in %v, want %d to %d", admitted, took, least, most)
	}
	if got := s.reached.Load() - reached; got != int64(admitted) && !s.inside {
		s.Errorf("the application got %d requests, and %d were admitted", got, admitted)
	}
	s.explained(denied)
}

// told holds what an answer says of the limit against draft-ietf-httpapi-ratelimit-headers, and returns how much is left.
func (s *site) told(a response) (left int64) {
	s.Helper()
	fields := map[string]httpsfv.Item{}
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
		list, err := httpsfv.UnmarshalList(a.header.Values(name))
		if err != nil || len(list) != 1 {
			s.Fatalf("%d, %s %q: %v, want one item", a.status, name, a.header.Values(name), err)
		}
		item, ok := list[0].(httpsfv.Item)
		if !ok || item.Value != siteLimit {
			s.Fatalf("%s %q, want an item %q", name, a.header.Values(name), siteLimit)
		}
		fields[name] = item
	}
	for parameter, want := range map[string]int64{"q": siteCapacity, "w": siteCapacity / siteRefill} {
		if got, _ := fields["RateLimit-Policy"].Params.Get(parameter); got != want {
			s.Errorf("RateLimit-Policy %q: %s is not %d", a.header.Get("RateLimit-Policy"), parameter, want)
		}
	}
	r, _ := fields["RateLimit"].Params.Get("r")
	left, ok := r.(int64)
	if !ok || left < 0 || left >= siteCapacity {
		s.Errorf("RateLimit %q: r is not what is left of %d", a.header.Get("RateLimit"), siteCapacity)
	}
	return left
}

// instance is what names a denial in a problem body.
var instance = regexp.MustCompile(`^urn:jeton:denial:([a-z0-9-]+)$`)

// refused holds a denial against RFC 6585 and RFC 9457. The body it returns is the id of the denial; that of a HEAD has none.
func (s *site) refused(a response, method string) response {
	s.Helper()
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > siteCapacity {
		s.Errorf("Retry-After %q: %v, want seconds", a.header.Get("Retry-After"), err)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		s.Errorf("Content-Type %q of a denial", got)
	}
	if method == http.MethodHead {
		if a.body != "" {
			s.Errorf("the answer to a HEAD has a body: %s", a.body)
		}
		return a
	}
	var p struct {
		Type, Title, Instance string
		Status                int
		Violated              []string `json:"violated-policies"`
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		s.Fatalf("%s: %v", a.body, err)
	}
	found := instance.FindStringSubmatch(p.Instance)
	if found == nil || p.Status != http.StatusTooManyRequests || p.Title == "" || !strings.HasSuffix(p.Type, "#quota-exceeded") ||
		!slices.Equal(p.Violated, []string{siteLimit}) {
		s.Fatalf("the body of a denial is %s", a.body)
	}
	a.body = found[1]
	return a
}

// explained checks that the gateway that has refused knows every denial, and the others know which gateway that is.
func (s *site) explained(denied []response) {
	s.Helper()
	n := 0
	for _, a := range denied {
		if a.body == "" {
			continue
		}
		n++
		for _, g := range s.gateways {
			status, body, err := s.get("http://" + g.admin + "/v1/denials/" + a.body)
			if err != nil {
				continue // it is not there any more
			}
			if !strings.HasPrefix(a.body, g.name+"-") {
				if status != http.StatusMisdirectedRequest {
					s.Errorf("%s does not know that the denial %s is of another gateway: %d %s", g.name, a.body, status, body)
				}
				continue
			}
			var record struct {
				ID     string `json:"id"`
				Status int    `json:"status"`
				Path   string `json:"path"`
			}
			if err := json.Unmarshal([]byte(body), &record); err != nil {
				s.Fatalf("%s: %v", body, err)
			}
			if status != http.StatusOK || record.ID != a.body || record.Status != a.status || !strings.HasPrefix(record.Path, "/items/") {
				s.Errorf("%s explains the denial %s so: %d %s", g.name, a.body, status, body)
			}
		}
	}
	if n < 3 {
		s.Errorf("%d denials had a body, want several", n)
	}
}

// hedges is how often checks may have been charged for once more: they were tried at a second node while the first one was
// silent, or after it. Of a gateway that is dead it is what it was when last asked for.
func (s *site) hedges() (n int) {
	s.Helper()
	for _, g := range s.gateways {
		if _, text, err := s.get("http://" + g.admin + "/metrics"); err == nil {
			g.sent = askedAgain(s.T, text)
		}
		n += g.sent
	}
	return n
}

// refill fills the buckets of the clients of the tests.
func (s *site) refill() {
	s.Helper()
	for _, key := range []string{"customer:test", "ip:127.0.0.1"} {
		m := s.cluster.Members[0]
		url := "http://" + m.HTTP + "/v1/buckets/" + siteLimit + "/" + key
		if a := operate(s.T, m.Data, http.MethodDelete, url, ""); a.status != http.StatusNoContent {
			s.Fatalf("DELETE %s: %d %s", url, a.status, a.body)
		}
	}
}
