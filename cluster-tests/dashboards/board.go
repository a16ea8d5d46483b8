package main

// A board is one dashboard.
type board struct {
	name, title, says string
	picks             []pick
	marks             []mark
	rows              []row
}

// A row is a heading, and panels of the same width beside one another below it.
type row struct {
	title  string
	panels []panel
}

// A pick is a variable, whose values people pick: those of a label of a metric.
type pick struct {
	name, label, of string
	one             bool // of them at a time
}

// A mark is an annotation: a line where a query has a value.
type mark struct{ title, says, query, color string }

// document is the board as Grafana reads it.
func (b board) document() fields {
	variables := []any{fields{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}}
	for _, p := range b.picks {
		variables = append(variables, p.document())
	}
	marks := []any{}
	for _, m := range b.marks {
		marks = append(marks, fields{
			"name": m.title, "datasource": source, "enable": true, "iconColor": m.color, "expr": m.query, "step": "60s",
			"titleFormat": m.title, "textFormat": m.says,
		})
	}
	return fields{
		"uid": "jeton-" + b.name, "title": "jeton / " + b.title, "description": b.says, "tags": []string{"jeton"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
		"time":        fields{"from": "now-1h", "to": "now"},
		"templating":  fields{"list": variables},
		"annotations": fields{"list": marks},
		"links": []any{
			fields{"title": "jeton", "type": "dashboards", "tags": []string{"jeton"}, "asDropdown": false, "keepTime": true, "includeVars": true},
			fields{"title": "What alerts mean", "type": "link", "url": "https://github.com/jeton-dev/jeton/blob/main/docs/alerts.md", "targetBlank": true},
		},
		"panels": b.panels(),
	}
}

func (p pick) document() fields {
	out := fields{
		"name": p.name, "label": p.label, "type": "query", "datasource": source, "query": "label_values(" + p.of + ", " + p.name + ")",
		"refresh": 2, "sort": 1, "multi": !p.one, "includeAll": !p.one,
	}
	if !p.one {
		out["allValue"], out["current"] = ".*", fields{"text": "All", "value": "$__all"}
	}
	return out
}

// The size of the grid: how wide it is, and how high panels are.
const (
	wide = 24
	high = 8
	flat = 4 // of a row of single numbers
)

// panels are the rows with their panels, each at its place.
func (b board) panels() []any {
	out, y, id := []any{}, 0, 1
	for _, r := range b.rows {
		out = append(out, fields{"id": id, "type": "row", "title": r.title, "collapsed": false, "panels": []any{}, "gridPos": fields{"x": 0, "y": y, "w": wide, "h": 1}})
		y, id = y+1, id+1
		w, h := wide/len(r.panels), high
		if r.panels[0].kind == number {
			h = flat
		}
		for i, p := range r.panels {
			d := p.document()
			d["id"], d["gridPos"] = id, fields{"x": i * w, "y": y, "w": w, "h": h}
			out, id = append(out, d), id+1
		}
		y += h
	}
	return out
}
