package rls

import (
	"google.golang.org/protobuf/types/known/structpb"
)

// metadata tells filters and access logs of Envoy what was asked, and which descriptors quota_mode let pass. Its fields are those of
// Envoy's service.
func (p *plan) metadata() *structpb.Struct {
	var all, violations []*structpb.Value
	for _, d := range p.request.GetDescriptors() {
		var entries []*structpb.Value
		for _, e := range d.GetEntries() {
			entries = append(entries, structpb.NewStringValue(e.GetKey()+"="+e.GetValue()))
		}
		one := map[string]*structpb.Value{"entries": list(entries)}
		if n := d.GetHitsAddend(); n != nil {
			one["hitsAddend"] = structpb.NewNumberValue(float64(n.GetValue()))
		}
		all = append(all, structpb.NewStructValue(&structpb.Struct{Fields: one}))
	}
	enabled := false
	for i := range p.items {
		it := &p.items[i]
		if it.rule == nil || !it.rule.Quota || it.kind != asked && it.kind != nothing {
			continue
		}
		enabled = true
		if p.over(it) {
			violations = append(violations, structpb.NewNumberValue(float64(i)))
		}
	}
	fields := map[string]*structpb.Value{
		"domain": structpb.NewStringValue(p.request.GetDomain()), "descriptors": list(all), "quotaModeEnabled": structpb.NewBoolValue(enabled),
	}
	if n := p.request.GetHitsAddend(); n != 0 {
		fields["hitsAddend"] = structpb.NewNumberValue(float64(n))
	}
	if len(violations) > 0 {
		fields["quotaModeViolations"] = list(violations)
	}
	return &structpb.Struct{Fields: fields}
}

func list(values []*structpb.Value) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: values})
}
