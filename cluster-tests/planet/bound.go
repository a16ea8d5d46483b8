package main

import (
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// What is promised of limits, as docs/consistency.md says it: by how much more than the limit, or than the bucket of an edge, may be admitted.

// mayBeLate is how late a report may be, and how old what an edge goes by, besides sync and the way: in nanoseconds, both together.
const mayBeLate = tidyEvery + lease.ReportWithin

// bound is how many tokens beyond the limit may be admitted in any window. Of an eventual limit, that is what arrives in sync, a round trip and mayBeLate, or what the limit admits in that time at
// each edge but one; and besides it, what edges could not report, and what owners forgot.
func (w *world) bound() float64 {
	if w.policy.consistency != limit.Eventual {
		return 0
	}
	within := int64(w.rule.Reports()) + mayBeLate + 2*w.slowest
	each := float64(w.rule.Capacity) + float64(within)/w.rule.PerToken()
	return min(float64(w.arrived.most(within)), float64(len(w.sites)-1)*each) + float64(w.lost()+w.home.forgot)
}

// beyond is by how many tokens more was admitted than is promised, where over is how many more than the limit.
func (w *world) beyond(over float64) float64 {
	if w.policy.consistency != limit.OfEdge {
		return over - w.bound()
	}
	most := 0.0
	for _, s := range w.sites {
		most = max(most, s.own.overshoot())
	}
	return most
}

// lost are tokens that were admitted and that owners do not know of: they died with edges, or reports of them have failed.
func (w *world) lost() (tokens int64) {
	for _, s := range w.sites {
		tokens += s.lost + s.failed
	}
	return tokens
}
