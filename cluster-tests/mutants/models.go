package mutants

// ofModels are those of routes to language models: of what is read of requests and answers, and of the memory that it takes.
func ofModels() []Mutant { //nolint:funlen // a list
	return []Mutant{{
		Name:   "bodies of one client without a bound",
		Why:    "a body for a model is read whole, and of one client all of them take no more than its part of the memory; otherwise a few clients shut out all others",
		Edits:  []Edit{{File: "gateway/bodymemory.go", Old: "m.clients[r.client]+bytes > r.bounds.perClient:", New: "false:"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestBodiesStayWithin$", Says: `200 .*, want 429`}},
	}, {
		Name:   "bodies of all clients without a bound",
		Why:    "bodies for models together take no more memory than the document says; otherwise a hundred clients with bodies of 10 MiB end the process",
		Edits:  []Edit{{File: "gateway/bodymemory.go", Old: "case m.all+bytes > r.bounds.inAll:", New: "case false:"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestBodiesStayWithin$", Says: `200 .*, want 503`}},
	}, {
		Name:  "announced bytes take memory",
		Why:   "memory for a body is taken as the body arrives; taken by its announced length, clients that send nothing shut out all others",
		Edits: []Edit{{File: "gateway/llm/readbody.go", Old: "size := min(max(2*int64(cap(body)), firstBytes), bound)", New: "size := bound"}},
		Caught: []Hunt{
			{Package: "./gateway/llm", Run: "^TestReadBody$", Says: `which take 100000`},
			{Package: "./gateway", Run: "^TestAnnouncedBytesTakeNothing$", Says: `bodies take [0-9.e+]+ bytes, want`},
		},
	}, {
		Name:   "a body keeps its room until the answer ends",
		Why:    "a body gives its memory back when the model has got it; kept as long as an answer streams, slow answers shut out other requests",
		Edits:  []Edit{{File: "gateway/modelbody.go", Old: "\tif n, err = b.left.Read(p); err != nil {", New: "\tif n, err = b.left.Read(p); false {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestBodiesStayWithin$", Says: `bodies take [0-9.e+]+ bytes, want 0`}},
	}, {
		Name:   "a body that was sent is kept",
		Why:    "the room of a body that was sent is given to others, so its bytes must be garbage; kept, the memory of the process has no bound",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: "\tl.request = nil\n", New: ""}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestSentBodiesAreLetGo$", Says: `bytes are in use after`}},
	}, {
		Name:  "a token for each event",
		Why:   "a stream that its client leaves is charged by its text; by its events alone, of which some models send one for many tokens, most of it is free",
		Edits: []Edit{{File: "gateway/llm/answer.go", Old: "return max(a.Seen, min(tokensOf(a.Text), estimate))", New: "return max(a.Seen, min(tokensOf(a.Text), 0*estimate))"}},
		Caught: []Hunt{
			{Package: "./gateway/llm", Run: "^TestCharge$", Says: `seen, with much text: got`},
			{Package: "./gateway", Run: "^TestClientLeavesAStream$", Says: `want an output of 75`},
		},
	}, {
		Name:   "text beyond the estimate",
		Why:    "a model stays within its maximum, so that the guess by the text does too; beyond it, a stream of another language or of code costs more than it may have used",
		Edits:  []Edit{{File: "gateway/llm/answer.go", Old: "return max(a.Seen, min(tokensOf(a.Text), estimate))", New: "return max(a.Seen, tokensOf(a.Text))"}},
		Caught: []Hunt{{Package: "./gateway/llm", Run: "^TestCharge$", Says: `with more text than it may have: got`}},
	}, {
		Name:   "answers in the background",
		Why:    "an answer in the background tells its usage later, to a request that asks no limit; let through, it costs nothing but the estimate",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: "if request.Background && r.counts {", New: "if false {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestBackground$", Says: `"background":true: 200`}},
	}, {
		Name:   "the price of the model that was asked",
		Why:    "another model may answer than was asked, and the bill is that of the one that has; by the price of the other, a budget of money says nothing of the bill",
		Edits:  []Edit{{File: "gateway/metering/settle.go", Old: "if h.Prices != nil {", New: "if h.Prices != nil && false {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestPriceOfTheModelThatAnswers$", Says: `30 are charged, want 3000`}},
	}, {
		Name:   "a version of a model is another model",
		Why:    "answers name the version of the model that was asked; taken for a model of its own, it has the price of all others",
		Edits:  []Edit{{File: "gateway/llm/rates.go", Old: "answered == \"\" || !ok || version {", New: "answered == \"\" || !ok || version && false {"}},
		Caught: []Hunt{{Package: "./gateway/llm", Run: "^TestPriceOfAnswer$", Says: `gpt-5-2026-01-01 answers for gpt-5: got 5, want 1`}},
	}, {
		Name:   "only one maximum is lowered",
		Why:    "a request may name its maximum twice, and the greater one counts; lowered in one field alone, the model generates more than was held",
		Edits:  []Edit{{File: "gateway/llm/edit.go", Old: "r.lowered = append(r.lowered, edit{s.start, s.end, digits})", New: "r.lowered = []edit{{s.start, s.end, digits}}"}},
		Caught: []Hunt{{Package: "./gateway/llm", Run: "^TestLowerOutput$", Says: `"max_tokens":100.*: got`}},
	}, {
		Name:   "exchanges among the denials",
		Why:    "there are many more exchanges than denials; in one ring, a denial is forgotten before its client asks about it",
		Edits:  []Edit{{File: "gateway/gateway.go", Old: "Memory: g.talks,", New: "Memory: g.memory,"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestExchangesPushNoDenialsOut$", Says: `is among the denials`}},
	}, {
		Name:   "a GET with a body is no request to a model",
		Why:    "some services read the body of a GET as they do that of a POST; passed on unread, it makes the model work at no cost",
		Edits:  []Edit{{File: "gateway/visit.go", Old: "bodiless(v.request.Method) && v.request.Length == 0 {", New: "bodiless(v.request.Method) {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestBodyMakesARequestToTheModel$", Says: `and nothing is counted`}},
	}, {
		Name:   "a tunnel to a model",
		Why:    "an upgrade is a connection for any number of requests, of which the gateway reads none",
		Edits:  []Edit{{File: "gateway/rewrite.go", Old: "\tif x.route.llm != nil { // a GET,", New: "\tif false { // a GET,"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestNoTunnelToAModel$", Says: `the model was asked for an upgrade to websocket`}},
	}, {
		Name:   "only the first encoding of a body is looked at",
		Why:    "the gateway reads a body as JSON; with a second Content-Encoding, the model reads another one",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: `slices.ContainsFunc(h["Content-Encoding"], func`, New: `slices.ContainsFunc(h["Content-Encoding"][:min(1, len(h["Content-Encoding"]))], func`}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestModelReadsWhatWasRead$", Says: `Content-Encoding .*: 200`}},
	}, {
		Name:   "a model reads a body in another way",
		Why:    "a Content-Type with another charset or form makes the model read another request than the one that was estimated",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: `h.Set("Content-Type", "application/json")`, New: `h.Add("X-Content-Type", "application/json")`}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestModelReadsWhatWasRead$", Says: `the model got \["application/json; charset=utf-7"`}},
	}, {
		Name:   "a part of an answer",
		Why:    "a model works for a whole answer; asked for a range of it, it sends a part without the usage",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: "range notForModels {", New: "range notForModels[:0] {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestModelReadsWhatWasRead$", Says: `the model got Range`}},
	}, {
		Name:   "a deadline of the client's own costs nothing",
		Why:    "a client may set a deadline just before its answer comes, for which the model has worked; it costs the estimate, as it does when the client leaves",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: "sent && (o == canceled || o == upstreamTimeout)", New: "sent && o == canceled"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestTimeoutsCost$", Says: `are charged and 0 held, want 520`}},
	}, {
		Name:   "a field in other letters is another field",
		Why:    "services in Go take MAX_TOKENS for max_tokens: what the gateway takes for nothing is then the maximum of the model",
		Edits:  []Edit{{File: "gateway/llm/spelling.go", Old: "found = alike", New: "return other"}},
		Caught: []Hunt{{Package: "./gateway/llm", Run: "^TestOtherLetters$", Says: `want an error of max_tokens`}},
	}, {
		Name:  "all of a long answer is kept",
		Why:   "of an answer only the usage is kept, or one with log probabilities is longer than what is read, and is charged by its estimate",
		Edits: []Edit{{File: "gateway/llm/pruned.go", Old: "d.drop = end <= d.key || !d.wanted(d.kept[d.key:end-1]); d.drop {", New: "d.drop = end < 0; d.drop {"}},
		Caught: []Hunt{
			{Package: "./gateway/llm", Run: "^TestPruned$", Says: `became`},
			{Package: "./gateway", Run: "^TestLongAnswers$", Says: `Basis:estimate`},
		},
	}, {
		Name:   "a route to models leads to all paths below it",
		Why:    "what stands below the path of a model may be another API, such as one of batches, whose answers do not tell what they use",
		Edits:  []Edit{{File: "gateway/llmroute.go", Old: "if !r.leadsTo(path) {", New: "if false {"}},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestOtherPaths$", Says: `/v1/messages/batches: 200`}},
	}}
}
