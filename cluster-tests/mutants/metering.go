package mutants

// ofMetering are those of exchanges with language models, on which it rests that what is charged is what was used.
func ofMetering() []Mutant {
	return []Mutant{{
		Name:   "charged by the estimate",
		Why:    "a hold is settled by what the answer has used; by its estimate, a budget is used up several times as fast",
		Edits:  []Edit{{File: "gateway/metering/settle.go", Old: "Used: min(rates.Cost(charge.Usage), limit.MaxCount)", New: "Used: min(h.Granted, rates.Cost(charge.Usage)+h.Granted)"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestMoney$", Says: `are charged and 0 held, want`}},
	}, {
		Name:   "an exchange ends twice",
		Why:    "an exchange is settled by the first end that is known; by a later one too, the upstream's failure after its answer is charged again",
		Edits:  []Edit{{File: "gateway/metering/exchange.go", Old: "\tif x.ended {\n\t\treturn false\n", New: "\tif false {\n\t\treturn false\n"}},
		Caught: []Hunt{{Package: "./gateway/metering", Run: "^TestQueue$", Says: `are done, want|<nil>`}},
	}, {
		Name:   "a refused request keeps its holds",
		Why:    "when a later check denies, what the earlier ones hold is settled at nothing; kept, denied requests use up the limits of their organization",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: "if l != nil && !passes() {", New: "if false {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestLaterCheckDenies$", Says: `are charged and \d+ held, want`}},
	}, {
		Name:   "an estimate beyond all limits",
		Why:    "an estimate that no hold can have is denied; asked for as it is, it is no valid request, and the policy lets it through",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: "return min(max(l.rates(c).Dearest().Cost(u), 1), limit.MaxCount)", New: "return max(l.rates(c).Dearest().Cost(u), 1)"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestHugeEstimate$", Says: `max_tokens":\d+.*: 200`}},
	}, {
		Name:   "the maximum is not lowered",
		Why:    "the model gets the maximum that was granted; with the client's own, its answer costs more than was left",
		Edits:  []Edit{{File: "gateway/visit.go", Old: "if l == nil || l.lowered == 0 {", New: "if l == nil || l.lowered >= 0 {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestLeast$", Says: `lowered to \d+, want`}},
	}, {
		Name:   "a settlement before an extension",
		Why:    "a settlement waits for an extension that is under way; the extension after it would ask for a hold that is settled",
		Edits:  []Edit{{File: "gateway/metering/settle.go", Old: "\t\t\tx.running.Wait() // an extension that comes after the settlement would say that the hold goes on\n", New: ""}},
		Caught: []Hunt{{Package: "./gateway/metering", Run: "^TestSettlementWaitsForExtension$", Says: `: \[settled`}},
	}, {
		Name:   "the first receipt of a permit is returned",
		Why:    "an extension replaces the receipt of a permit; with the first one, the place stays taken until the lease is over",
		Edits:  []Edit{{File: "gateway/metering/extend.go", Old: "x.permits[i].receipt = d.Receipts[0]", New: "_ = d.Receipts[0]"}},
		Caught: []Hunt{{Package: "./gateway/metering", Run: "^TestPermitIsReturnedAsExtended$", Says: `permit 1 is extended, which is 2|permit \d+ is extended`}},
	}}
}
