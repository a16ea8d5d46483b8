package bench

import "time"

// A part is what some of the processes of a side are.
type part struct {
	name     string
	children children
}

// parts are all of a side.
type parts []part

// children are the processes of all parts.
func (ps parts) children() children {
	var all children
	for _, p := range ps {
		all = append(all, p.children...)
	}
	return all
}

// An httpSide is one of the two that are compared over HTTP, with a closer look at its processor time.
type httpSide struct {
	*side
	watch *cpuWatch
}

func newHTTPSide(name string, target httpTarget, ps parts) httpSide {
	w := &cpuWatch{parts: ps, before: make([]time.Duration, len(ps)), now: make([]time.Duration, len(ps))}
	return httpSide{&side{name: name, children: ps.children(), service: target.service(w.cpu)}, w}
}

// A cpuWatch keeps how much processor time each part had used when it was last looked at, and the time before: a
// measurement looks when it begins and when it ends.
type cpuWatch struct {
	parts       parts
	before, now []time.Duration
}

// cpu is the processor time of all parts together.
func (w *cpuWatch) cpu() (total time.Duration) {
	w.before, w.now = w.now, w.before
	for i, p := range w.parts {
		w.now[i] = p.children.cpu()
		total += w.now[i]
	}
	return total
}

// A CPUPart is the processor time that one part of a side takes for a request, in nanoseconds.
type CPUPart struct {
	Part string        `json:"part"`
	CPU  time.Duration `json:"cpu_per_request_ns"`
}

// perRequest shares the processor time of the last measurement, which r is of, out among its requests: that of every part,
// and the generator's.
func (w *cpuWatch) perRequest(r *Report) []CPUPart {
	all := make([]CPUPart, 0, len(w.parts)+1)
	for i, p := range w.parts {
		all = append(all, CPUPart{p.name, r.perCheck(w.now[i] - w.before[i])})
	}
	return append(all, CPUPart{"generator", r.perCheck(r.GeneratorCPU)})
}
