package main

// A kind is how a panel shows what it asks for.
type kind string

const (
	number kind = "stat"
	chart  kind = "timeseries"
	heat   kind = "heatmap" // of a histogram
	table  kind = "table"
)

// The units of Grafana.
const (
	perSecond = "reqps"
	ops       = "ops"
	seconds   = "s"
	share     = "percentunit"
	bytes     = "bytes"
	count     = "short"
)

// A panel is one picture of a board.
type panel struct {
	kind        kind
	title, says string
	unit        string
	asks        []ask
	steps       []step // thresholds: the color from a value on; without, everything is green or has a color of its series
	stacked     bool
}

// An ask is one query, and what its series are called.
type ask struct{ query, name string }

// A step is a threshold.
type step struct {
	from  float64
	color string
}

// The colors of thresholds.
const (
	green  = "green"
	orange = "orange"
	red    = "red"
)

// fields is an object of JSON.
type fields = map[string]any

// source is the data source, which people pick.
var source = fields{"type": "prometheus", "uid": "${source}"}

// document is the panel as Grafana reads it, without its place.
func (p panel) document() fields {
	targets := []any{}
	for i, a := range p.asks {
		t := fields{
			"refId": string(rune('A' + i)), "datasource": source, "expr": a.query, "legendFormat": a.name,
			"exemplar": p.kind == chart && p.unit == seconds,
		}
		switch p.kind {
		case number:
			t["instant"] = true
		case table:
			t["instant"], t["format"] = true, "table"
		case heat:
			t["format"] = "heatmap"
		case chart:
			t["range"] = true
		}
		targets = append(targets, t)
	}
	return fields{
		"type": string(p.kind), "title": p.title, "description": p.says, "datasource": source, "targets": targets,
		"fieldConfig": fields{"defaults": p.defaults(), "overrides": []any{}}, "options": p.options(),
	}
}

func (p panel) defaults() fields {
	out := fields{"unit": p.unit, "min": 0}
	if p.unit == share {
		out["max"] = 1
	}
	steps := []any{fields{"value": nil, "color": green}}
	for _, s := range p.steps {
		steps = append(steps, fields{"value": s.from, "color": s.color})
	}
	out["thresholds"] = fields{"mode": "absolute", "steps": steps}
	if p.kind != chart {
		return out
	}
	custom := fields{"lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "stacking": fields{"mode": "none"}}
	if p.stacked {
		custom["fillOpacity"], custom["stacking"] = 40, fields{"mode": "normal"}
	}
	if len(p.steps) > 0 {
		custom["thresholdsStyle"] = fields{"mode": "dashed"}
	}
	out["custom"] = custom
	return out
}

func (p panel) options() fields {
	switch p.kind {
	case number:
		return fields{"colorMode": "value", "graphMode": "area", "reduceOptions": fields{"calcs": []string{"lastNotNull"}}}
	case heat:
		return fields{"calculate": false, "yAxis": fields{"unit": p.unit}, "color": fields{"mode": "scheme", "scheme": "Oranges"}, "cellGap": 1, "tooltip": fields{"mode": "single"}}
	case chart:
		return fields{"legend": fields{"displayMode": "list", "placement": "bottom"}, "tooltip": fields{"mode": "multi", "sort": "desc"}}
	case table:
	}
	return fields{"showHeader": true}
}

// quantiles asks for how late half, 99 and 99.9 in a hundred of what a histogram counts are.
func quantiles(histogram, of string) []ask {
	var out []ask
	for _, q := range []struct{ share, name string }{{"0.5", "half"}, {"0.99", "99 %"}, {"0.999", "99.9 %"}} {
		out = append(out, ask{"histogram_quantile(" + q.share + ", sum by (le) (rate(" + histogram + "_bucket{" + of + "}[$__rate_interval])))", q.name})
	}
	return out
}

// buckets asks for the buckets of a histogram, for a heatmap.
func buckets(histogram, of string) []ask {
	return []ask{{"sum by (le) (rate(" + histogram + "_bucket{" + of + "}[$__rate_interval]))", "{{le}}"}}
}

// one is a single query.
func one(query, name string) []ask { return []ask{{query, name}} }

// rate is how much a counter grows a second, by labels.
func rate(counter, of, by string) string {
	return "sum by (" + by + ") (rate(" + counter + "{" + of + "}[$__rate_interval]))"
}
