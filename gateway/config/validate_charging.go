package config

import (
	"fmt"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// charging checks which answers cost what their request has taken.
func (f *findings) charging(path string, r *Route) {
	f.statuses(path+".refund", r.Refund)
	f.statuses(path+".charge_when", r.ChargeWhen)
	switch field := r.charging(); {
	case field == "":
	case r.Refund != nil && r.ChargeWhen != nil:
		f.add(path+".charge_when", "excludes refund: give charge_when, the answers that cost, or refund, those that do not")
	case f.document.Proxy == nil && f.document.ForwardAuth != nil:
		f.add(path+"."+field, "needs the proxy: a proxy that asks by forward_auth does not tell what was answered")
	}
}

func (f *findings) statuses(path string, list []Status) {
	if list != nil && len(list) == 0 {
		f.add(path, "is empty: name at least one status, such as 503 or 5xx, or leave it out")
	}
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
		if !statusForm.MatchString(texts[i]) {
			f.add(strictyaml.Item(path, i), "%.64q is not a status: write one from 100 to 599, such as 503, or a class, such as 5xx", s)
		}
	}
	f.different(path, texts)
}

// charging is the field by which the route looks at answers; empty for none.
func (r *Route) charging() string {
	switch {
	case r.ChargeWhen != nil:
		return "charge_when"
	case r.Refund != nil:
		return "refund"
	}
	return ""
}

// ChargingUnseen is an error that names the first field of a route whose charge depends on the answer; nil if there is none. It is for
// handlers that do not see the answer.
func (d *Document) ChargingUnseen() error {
	for i := range d.Routes {
		if field := d.Routes[i].charging(); field != "" {
			return fmt.Errorf("%s.%s: needs the proxy, which sees what is answered: add proxy, or leave it out", strictyaml.Item("routes", i), field)
		}
	}
	return nil
}
