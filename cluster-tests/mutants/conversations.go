package mutants

// ofConversations are mutants of what clients and nodes say to one another in streams of checks.
func ofConversations() []Mutant { //nolint:funlen // a list
	talks := func(test, says string) Hunt { return Hunt{Package: "./rpc/nodes", Run: "^" + test + "$", Says: says} }
	return []Mutant{
		{
			Name: "answers go by the place in a message",
			Why:  "a stream carries many messages, and an answer comes when it is ready; found by its place alone, it is that of another check",
			Edits: []Edit{{
				File: "rpc/nodes/conversation.go",
				Old:  "asMessage(questions, (c.last+1)<<indexBits)",
				New:  "asMessage(questions, 1<<indexBits)",
			}},
			Caught: []Hunt{talks("TestConversation", `after the first answers`)},
		},
		{
			Name: "an answer counts twice",
			Why:  "each question is answered once; the second answer would end a message of which others are unanswered",
			Edits: []Edit{{
				File: "rpc/nodes/conversation.go",
				Old:  "u.kinds[i] = nothing",
				New:  "_ = nothing",
			}},
			Caught: []Hunt{talks("TestConversation", `was answered twice`)},
		},
		{
			Name: "given up, and out of the count",
			Why:  "what callers have given up is decided all the same; not counted, a node that is slow is sent more than its stream takes",
			Edits: []Edit{{
				File: "rpc/nodes/conversation.go",
				Old:  "\tu.answer = nil\n",
				New:  "\tu.answer = nil\n\tc.unanswered -= u.left\n",
			}},
			Caught: []Hunt{talks("TestConversationIsFull", `two more were taken`)},
		},
		{
			Name: "asked for nobody",
			Why:  "a check whose callers have left before it is sent is not asked; sent when a node comes back, it takes tokens for nobody",
			Edits: []Edit{{
				File: "rpc/nodes/conversation.go",
				Old:  "slices.Index(c.outbox, u); i >= 0 {",
				New:  "slices.Index(c.outbox, u); i > len(c.outbox) {",
			}},
			Caught: []Hunt{talks("TestConversationGivesUp", `sent \["c" "d"\], want`)},
		},
		{
			Name: "nobody is told who has left",
			Why:  "a check that another node has decided instead is given up; the node that was slow would decide it too, and take its cost twice",
			Edits: []Edit{{
				File: "rpc/stream.go",
				Old:  "\t\t\tc.giveUp(m.GivenUp)\n",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestStreamIsToldWhoHasLeft$", Says: `context deadline exceeded.* have ended`}},
		},
		{
			Name: "one leaves for all",
			Why:  "what goes in one message has many callers; it ends when the last of them has left, and not with the first",
			Edits: []Edit{{
				File: "rpc/stream_gathered.go",
				Old:  "m.wanted.Add(-1) == 0 {",
				New:  "m.wanted.Add(-1) >= 0 {",
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestStreamIsToldWhoHasLeft$", Says: `while another one of its message is waited for`}},
		},
		{
			Name: "a conversation without an end",
			Why:  "proxies end streams that last, with what is under way in them; so a client begins a new one in time",
			Edits: []Edit{{
				File: "rpc/nodes/conversation.go",
				Old:  "time.AfterFunc(talkFor, c.close)",
				New:  "time.AfterFunc(1000*talkFor, c.close)",
			}},
			Caught: []Hunt{talks("TestConversationEnds", `after its time it took a question`)},
		},
		{
			Name: "held up by a node that does not read",
			Why:  "a frozen node reads nothing, and whoever sends to it waits; the conversation ends all the same, and with it what is asked in it",
			Edits: []Edit{{
				File: "rpc/nodes/conversation.go",
				Old:  "c.speaking && !c.shut {",
				New:  "c.speaking && c.shut {",
			}},
			Caught: []Hunt{talks("TestConversationThatIsNotRead", `it is over: false`)},
		},
		{
			Name: "room for what is asked alone",
			Why:  "grpc takes so many bytes ahead; what is later said of questions that are given up counts too, or a caller waits in it for a frozen node",
			Edits: []Edit{{
				File: "rpc/nodes/conversation.go",
				Old:  " + aside + farewell*u.left",
				New:  "",
			}},
			Caught: []Hunt{talks("TestConversationNeverWaitsToSend", `bytes were said`)},
		},
		{
			Name: "as many given up as one likes",
			Why:  "an id of what is given up is one byte of a message, and eight in memory; no stream has more of them than a batch",
			Edits: []Edit{{
				File: "rpc/pb/incoming.go",
				Old:  "len(m.GivenUp) <= limit.MaxBatch {",
				New:  "len(m.GivenUp) >= 0 {",
			}},
			Caught: []Hunt{{Package: "./rpc/pb", Run: "^TestGivenUpIsBounded$", Says: `ids and`}},
		},
		{
			Name: "an answer for the next reservation",
			Why:  "a replica counts what it has accepted as it was asked for, and says the index of any other answer; put at the next one, a reservation that was refused is spent",
			Edits: []Edit{{
				File: "rpc/pb/reserved.go",
				Old:  "told < len(m.Answers) && m.index(told) == at {",
				New:  "told < len(m.Answers) && m.index(told) == max(at-1, 0) {",
			}},
			Caught: []Hunt{
				{Package: "./rpc/pb", Run: "^TestCountedAnswersArrive$", Says: `: sent|: got|out of order`},
				{Package: "./rpc/peers", Run: "^TestCountedAnswers$", Says: `out of order`},
			},
		},
		{
			Name: "no answer is a yes",
			Why:  "what is counted and what is answered are together as many as were asked; otherwise a reservation that the replica says nothing of counts as accepted",
			Edits: []Edit{{
				File: "rpc/pb/reserved.go",
				Old:  "sent != int64(n) {",
				New:  "sent > int64(n) {",
			}},
			Caught: []Hunt{
				{Package: "./rpc/pb", Run: "^TestAnswersThatDoNotFit$", Says: `the model says false`},
				{Package: "./rpc/peers", Run: "^TestOddAnswers$", Says: `want an error with`},
			},
		},
		{
			Name: "a ledger that is counted",
			Why:  "a claim that is accepted is told the ledger; where the replica only counts it, the owner begins with an empty one, and admits once more what others have admitted",
			Edits: []Edit{{
				File: "rpc/pb/reserved.go",
				Old:  "a.Version == 0 && len(a.Ledger) == 0",
				New:  "true",
			}},
			Caught: []Hunt{
				{Package: "./rpc/pb", Run: "^TestCountedAnswersArrive$", Says: `: sent`},
				{Package: "./rpc/peers", Run: "^TestDifferencesChangeNothing$", Says: `claim was told`},
			},
		},
		{
			Name: "the first deadline counts for all",
			Why:  "messages that go as one are waited for as long as the longest of them; the node would give the others up",
			Edits: []Edit{{
				File: "rpc/nodes/deadlines.go",
				Old:  "if d.latest.After(all.latest) {",
				New:  "if !d.latest.IsZero() {",
			}},
			Caught: []Hunt{talks("TestConversation", `want the longer`)},
		},
		{
			Name: "who leaves soon goes with who stays",
			Why:  "all of a message is decided until its last caller leaves; a hold whose caller left long before is taken for nobody",
			Edits: []Edit{{
				File: "rpc/nodes/deadlines.go",
				Old:  "		return false",
				New:  "		_ = now",
			}},
			Caught: []Hunt{talks("TestQueueDeadlines", `want until the latest of two deadlines`), talks("TestConversationDeadlines", `want \["b" "d"\]`)},
		},
		{
			Name: "who waits sits among the others",
			Why:  "a check that waits for tokens may do so for half a minute; some hundred of them in a stream would leave no room for those that are decided at once",
			Edits: []Edit{{
				File: "rpc/nodes/queue.go",
				Old:  "return q.check.GetWaitNs() > 0",
				New:  "return q.check.GetWaitNs() < 0",
			}},
			Caught: []Hunt{{Package: "./rpc/client", Run: "^TestMessagesShareStreams$", Says: `was no call by itself`}},
		},
		{
			Name: "calls by the table without its mark",
			Why:  "a client that has got the table says so; in a stream from before, nodes would never tell it of a newer one",
			Edits: []Edit{{
				File: "rpc/nodes/talks.go",
				Old:  "c.routed == routed && !c.ends()",
				New:  "!c.ends()",
			}},
			Caught: []Hunt{talks("TestTalks", `a conversation without marks`)},
		},
		{
			Name: "told at the end of the stream",
			Why:  "trailers come when a stream ends; a client whose table is old would go on asking the wrong node",
			Edits: []Edit{{
				File: "rpc/stream.go",
				Old:  "m.version = &c.version",
				New:  "m.version = nil",
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestStreamIsTold$", Says: `told of the tables`}},
		},
		{
			Name: "refuses, and does not say so",
			Why:  "a node that refuses every check says it beside its answers, so that clients ask others first",
			Edits: []Edit{{
				File: "rpc/stream.go",
				Old:  "a.Result.Err != nil && !out.Refuses {",
				New:  "a.Result.Err == nil && !out.Refuses {",
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestNotServing$", Says: `a stream: `}},
		},
	}
}
