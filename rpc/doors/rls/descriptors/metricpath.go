package descriptors

// MetricPath is the name in metrics of a rule that varies, for one request. Values are in it where detailed_metric or value_to_metric
// asks for them, or the file has them; of entries that share a bucket it has the pattern.
func (r *Rule) MetricPath(domain string, entries []Entry, steps []Step) string {
	b := []byte(domain)
	for i, e := range entries {
		b = append(b, '.')
		b = append(b, e.Key...)
		if value := steps[i].metricValue(e, r.Detailed); value != "" {
			b = append(b, '_')
			b = append(b, value...)
		}
	}
	return string(b)
}

func (s Step) metricValue(e Entry, detailed bool) string {
	switch {
	case s.shared:
		return s.pattern
	case s.exact, detailed, s.toMetric:
		return e.Value
	default:
		return s.pattern
	}
}
