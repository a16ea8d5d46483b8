package rls

import (
	"fmt"
	"strings"
)

// Dump is the rules in force, a line each, as Envoy's service prints them.
func (d *Door) Dump() string {
	var b strings.Builder
	for _, r := range d.Rules() {
		unit := "UNKNOWN"
		if !r.Unlimited {
			unit = strings.ToUpper(r.Unit.String())
		}
		fmt.Fprintf(&b, "%s: unit=%s requests_per_unit=%d, shadow_mode: %t, quota_mode: %t\n", r.Path, unit, r.Requests, r.Shadow, r.Quota)
	}
	return b.String()
}
