package mutants

// ofGateway are mutants of the gateway.
func ofGateway() []Mutant { //nolint:funlen // a list
	return []Mutant{{
		Name: "a whole limit at each gateway",
		Why:  "while the cluster cannot be asked, each of n gateways admits the n-th part of a limit; if each admits the whole, n times as much passes",
		Edits: []Edit{
			{File: "actor/limit/tokenbucket.go", Old: "part.Capacity = max(l.Capacity/int64(n), 1)", New: "n = 1"},
		},
		Caught: []Hunt{
			{Package: "./gateway/fallback", Run: "^TestDivide$", Says: `capacity \d+, refill .* of`},
			{Package: "./gateway/fallback", Run: "^TestGatewaysTogether$", Says: `admitted too much in a window`},
		},
	}, {
		Name: "a denial is repeated for as long as its limits allow",
		Why:  "a denial holds until the time that the node said; repeated for longer, it denies what the bucket has",
		Edits: []Edit{
			{File: "gateway/fallback/known.go", Old: "lasts := min(surely(r, d, stored), k.lasts)", New: "lasts := k.lasts"},
		},
		Caught: []Hunt{
			{Package: "./gateway/fallback", Run: "^TestKnownDenialsHold$", Says: `is repeated for .*, and the cluster says`},
			{Package: "./gateway/fallback", Run: "^TestAskedAgain$", Says: `permits: .* after 1 questions, want 2`},
		},
	}, {
		Name: "a denial holds from when it was heard",
		Why:  "the node counted the wait from its decision; on the way to a gateway some of it has passed, and a token that has come in since would be denied",
		Edits: []Edit{
			{File: "gateway/fallback/known.go", Old: "heard: now, until: sent + int64(lasts)", New: "heard: now, until: now + int64(lasts)"},
		},
		Caught: []Hunt{{Package: "./gateway/fallback", Run: "^TestKnownDenialsHold$", Says: `is repeated for .*, and the cluster says`}},
	}, {
		Name: "a denial that is counted is repeated",
		Why:  "an owner closes a bucket after denials in a row; those that a gateway repeats are not counted, and nobody who guesses passwords is ever closed out",
		Edits: []Edit{
			{File: "gateway/fallback/known.go", Old: "case rule == nil, rule.Penalty != (limit.Penalty{}) && !o.Closed:", New: "case rule == nil:"},
		},
		Caught: []Hunt{{Package: "./gateway/fallback", Run: "^TestAskedAgain$", Says: `a counted denial: .* after 1 questions, want 2`}},
	}, {
		Name: "a denial outlives the limits that it was made by",
		Why:  "an operator who raises a limit expects that it counts at once",
		Edits: []Edit{
			{File: "gateway/fallback/known.go", Old: "f.stored == stored && ", New: "stored != nil && "},
		},
		Caught: []Hunt{{Package: "./gateway/fallback", Run: "^TestAskedAgain$", Says: `other limits in force: .* after 1 questions, want 2`}},
	}, {
		Name: "a denial by the limits before is repeated",
		Why:  "a node may hear of a change of the limits after the gateway; its denial by the numbers before would be repeated as one by those that count now",
		Edits: []Edit{
			{File: "gateway/fallback/known.go", Old: "rule != nil && rule.Capacity != o.Limit {", New: "rule != nil && o.Limit < 0 {"},
		},
		Caught: []Hunt{{Package: "./gateway/fallback", Run: "^TestDenialByOtherNumbers$", Says: `asked 1 times, want 2`}},
	}, {
		Name: "the denial of any node is repeated",
		Why:  "a node that is asked beside a slow owner has none of the line that the owner reserved; its denial may be for want of that alone",
		Edits: []Edit{
			{File: "gateway/fallback/known.go", Old: " || k.first != nil && k.first(r.Key) != d.Node {", New: " {"},
		},
		Caught: []Hunt{{Package: "./gateway/fallback", Run: "^TestAskedAgain$", Says: `of another node: .* after 1 questions, want 2`}},
	}, {
		Name: "a host has two dots at its end",
		Why:  "a host has one form; if it has several, a client writes the one that meets no route with a limit",
		Edits: []Edit{
			{File: "gateway/route/host.go", Old: `name = strings.TrimSuffix(s, ".")`, New: `name = strings.TrimRight(s, ".")`},
		},
		Caught: []Hunt{
			{Package: "./gateway/route", Run: "^TestHost$", Says: `"limited.example\.\." is "limited.example"`},
			{Package: "./gateway", Run: "^TestHosts$", Says: `the host "limited.example\.\.": \d+, want 400`},
		},
	}, {
		Name: "a path begins with a host",
		Why:  "what the rules judge is what the upstream gets: some services take //a/b for the path /b of a host a",
		Edits: []Edit{
			{File: "gateway/route/target.go", Old: `case strings.HasPrefix(t.escaped, "//"):`, New: "case false:"},
		},
		Caught: []Hunt{{Package: "./gateway/route", Run: "^TestRead$", Says: `"//other/a" is .*, want ""`}},
	}, {
		Name: "a path begins with a host, and no other reading is judged",
		Why:  "the gateway refuses //a/b twice, as a target and as a path that some services read otherwise; without both, it passes it on",
		Edits: []Edit{
			{File: "gateway/route/target.go", Old: `case strings.HasPrefix(t.escaped, "//"):`, New: "case false:"},
			{File: "gateway/reading.go", Old: "if cut {\n\t\tadd(before, slashes)", New: "if cut && false {\n\t\tadd(before, slashes)"},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^FuzzUpstreamGetsWhatWasJudged$", Says: `its target is no path`}},
	}, {
		Name: "the proxy passes on what net/url makes of a request",
		Why:  "the upstream gets the target that was judged and nothing else; net/http takes parts of a query away that it cannot parse",
		Edits: []Edit{
			{File: "gateway/rewrite.go", Old: `r.Out.URL, r.Out.Host, r.Out.Trailer = x.target.At(u.instances[0].url), "", nil`, New: `r.SetURL(u.instances[0].url)`},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestQueryIsPassedOn$", Says: `becomes`}},
	}, {
		Name: "a request that was sent goes to the next instance as well",
		Why:  "only what had no connection was surely not sent; a payment whose connection broke may have been made",
		Edits: []Edit{
			{
				File: "gateway/upstream.go", Old: "if _, unsent := errors.AsType[*connectError](err); !unsent || !body.unread() || r.Context().Err() != nil {",
				New: "if err == nil {",
			},
			{File: "gateway/upstream.go", Old: "\t\"errors\"\n", New: ""},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestProxySendsOnce$", Says: `it was sent 2 times`}},
	}, {
		Name: "what was sent is given back",
		Why:  "a client that leaves before the answer has made the service work, and tried its password: that costs",
		Edits: []Edit{
			{File: "gateway/proxy.go", Old: "if !x.sent.Load() {", New: "if true {"},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestRefund$", Says: `10 remain, want 9`}},
	}, {
		Name: "a client that leaves early pays nothing",
		Why:  "each request costs the cluster a check: a client that leaves before its request is sent would make as many as it likes",
		Edits: []Edit{
			{File: "gateway/charge.go", Old: "if len(c.taken) > 0 && !gone(ctx) {", New: "if len(c.taken) > 0 {"},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestChargeWhenTheClientLeaves$", Says: `10 remain, want 9`}},
	}, {
		Name: "what is taken of one cluster is given back to another",
		Why:  "what a request took of the limits of a region comes back there, when the planet denies: given to another cluster, it is lost, and the region is stricter than its limits",
		Edits: []Edit{
			{File: "gateway/charge.go", Old: "guards[t.of.at].Return(", New: "guards[0*t.of.at].Return("},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestClustersStack$", Says: `nothing is given back to the region`}},
	}, {
		Name: "a place is kept for who has left",
		Why:  "a request that is held gives its place up when its client leaves; kept, clients that ask and leave shut out all others",
		Edits: []Edit{
			{File: "gateway/visit.go", Old: "if !v.hold(ctx) {", New: "if v.hold(ctx); false {"},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestWhoLeavesGivesItsPlaceUp$", Says: `no place is given up`}},
	}, {
		Name: "a proxy that asks is answered as a call of gRPC",
		Why:  "calls are refused with the status 200 of HTTP, which to a proxy that asks by forward-auth means that the request may pass",
		Edits: []Edit{
			{File: "gateway/forward.go", Old: "rules.refuse(w, nil, nil, notFound, \"ask", New: "rules.refuse(w, r, nil, notFound, \"ask"},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestNoCallIsAnsweredAsOne$", Says: `a proxy asks /nothing: 200`}},
	}, {
		Name: "one client takes all the room",
		Why:  "requests under way are bounded for each client before anything is done for them, or one that sends bodies slowly shuts out all others",
		Edits: []Edit{
			{File: "gateway/inflight.go", Old: "if s.count[client] >= maxPerClient {", New: "if false {"},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestTooManyConcurrent$", Says: `status 204, want 429`}},
	}, {
		Name: "a drop of a body buys all the time again",
		Why:  "the time that a client may take for a body is bounded as a whole; a byte now and then does not begin it anew",
		Edits: []Edit{
			{File: "gateway/requestbody.go", Old: "p.pause+earned-waited", New: "p.pause+earned"},
		},
		Caught: []Hunt{{Package: "./gateway", Run: "^TestBodyPace$", Says: `the client is late at read 0`}},
	}, {
		Name: "the path of a denial steers the terminal",
		Why:  "what clients and other nodes have sent is shown to operators quoted, or it can forge lines and change what they see",
		Edits: []Edit{
			{File: "internal/plain/plain.go", Old: "|| strings.ContainsFunc(s, unprintable)", New: "|| false && strings.ContainsFunc(s, unprintable)"},
		},
		Caught: []Hunt{{Package: "./internal/plain", Run: "^TestPlain$", Says: `is shown as`}},
	}, {
		Name: "a redirect says whose tokens are believed",
		Why:  "keys of tokens are read from the host that the document names and from no other, whatever that one answers",
		Edits: []Edit{
			{File: "gateway/identity/redirect.go", Old: "if origin(next.URL) != origin(first) {", New: "if false {"},
		},
		Caught: []Hunt{{Package: "./gateway/identity", Run: "^TestRedirectsOfKeySets$", Says: `the log does not say "http`}},
	}}
}
