package agreed

import (
	"strings"
	"unicode/utf8"
)

// The longest texts of an entry, in bytes; what is longer is cut.
const (
	maxWho    = 256
	maxFrom   = 128
	maxNode   = 64
	maxVerb   = 32
	maxObject = 640 // a limit and a key
	maxDetail = 512
)

// An Entry of the audit log is something that an operator has done: when, who, from where, and what. The node that was asked
// makes it, and it is agreed with the very command that does the thing: neither is there without the other.
type Entry struct {
	// Number counts the entries of the cluster, from 1 on. It is given when the entry is agreed.
	Number uint64 `json:"number,omitempty"`
	// At is when the node was asked, by its clock, in nanoseconds since the Unix epoch.
	At int64 `json:"at"`
	// Who is what the caller has shown, such as "token ann"; From the address of its connection; Node the node that it asked.
	Who  string `json:"who"`
	From string `json:"from,omitempty"`
	Node string `json:"node"`
	// Verb, Object and Detail say what was done, in plain words.
	Verb   string `json:"verb"`
	Object string `json:"object,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// clipped is the entry with texts that are not too long.
func (e Entry) clipped() Entry {
	for _, text := range []struct {
		of      *string
		longest int
	}{{&e.Who, maxWho}, {&e.From, maxFrom}, {&e.Node, maxNode}, {&e.Verb, maxVerb}, {&e.Object, maxObject}, {&e.Detail, maxDetail}} {
		*text.of = clip(*text.of, text.longest)
	}
	return e
}

const ellipsis = "…"

// clip is text in UTF-8, with at most so many bytes.
func clip(text string, longest int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= longest {
		return text
	}
	end := longest - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// size is how many bytes the texts of the entry take.
func (e *Entry) size() int {
	return len(e.Who) + len(e.From) + len(e.Node) + len(e.Verb) + len(e.Object) + len(e.Detail)
}

// same says whether two entries tell of the same thing: one that was proposed again.
func (e Entry) same(o Entry) bool {
	e.Number, o.Number = 0, 0
	return e == o
}
