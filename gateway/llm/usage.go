package llm

// Usage is what a request has used, or may use, in tokens. The parts are included in the wholes, whichever way the API counts:
// an Anthropic answer, which counts cached tokens beside its input, is brought to this form.
type Usage struct {
	// Input is the whole prompt, with what was read from a cache and what was written to one.
	Input int64
	// Output is all that was generated, with what the client does not see.
	Output int64
	// Cached is the part of Input that was read from a cache.
	Cached int64
	// CacheWrite is the part of Input that was written to a cache.
	CacheWrite int64
	// Reasoning is the part of Output that was reasoning.
	Reasoning int64
}

// Total is the input and the output. It saturates.
func (u Usage) Total() int64 { return plus(max(u.Input, 0), max(u.Output, 0)) }

// consistent is u with no number below 0, and with parts that are no greater than their wholes.
func (u Usage) consistent() Usage {
	u.Input, u.Output = max(u.Input, 0), max(u.Output, 0)
	u.Cached = min(max(u.Cached, 0), u.Input)
	u.CacheWrite = min(max(u.CacheWrite, 0), u.Input-u.Cached)
	u.Reasoning = min(max(u.Reasoning, 0), u.Output)
	return u
}

// counts are the numbers of an answer as they stand there.
type counts struct {
	n     [kinds]int64
	known [kinds]bool
}

// read takes over the counts of the object at s, and leaves those that it does not have as they are. It says whether the object has an input,
// an output or a total. A count that is negative or no whole number spoils the object: nothing is taken over.
func (c *counts) read(text []byte, s span, from *countPaths) bool {
	fresh := *c
	found := false
	for kind, p := range from.at {
		if len(p) == 0 {
			continue
		}
		at := locate(text, s, p)
		if !at.found() || at.null(text) {
			continue
		}
		n, ok := at.number(text)
		if !ok || n < 0 {
			return false
		}
		fresh.n[kind], fresh.known[kind] = n, true
		found = found || kind == input || kind == output || kind == total
	}
	if found {
		*c = fresh
	}
	return found
}

// usage is the Usage that the counts say.
func (c *counts) usage(apart bool) Usage {
	u := Usage{Input: c.n[input], Output: c.n[output], Cached: c.n[cached], CacheWrite: c.n[cacheWrite], Reasoning: c.n[reasoning]}
	if apart {
		u.Input = plus(u.Input, plus(u.Cached, u.CacheWrite))
	}
	if c.known[total] {
		switch {
		case !c.known[output]:
			u.Output = c.n[total] - u.Input
		case !c.known[input]:
			u.Input = c.n[total] - u.Output
		}
	}
	return u.consistent()
}
