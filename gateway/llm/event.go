package llm

// contents are what an event of a stream has that is counted. A span that is not found is not there.
type contents struct {
	model     span  // the name of the model
	usage     span  // the object that has the counts
	partial   bool  // the usage is of the start of the answer
	usageOnly bool  // with a usage, it is the event that [Request.AskForUsage] adds
	output    bool  // it brought output
	text      int64 // so many bytes of text
}

// filled says whether a value is there: no null, nothing empty.
func filled(data []byte, value span) bool {
	if !value.found() {
		return false
	}
	switch string(value.of(data)) {
	case "null", `""`, "[]", "{}", "false":
		return false
	}
	return true
}

// fields are three members of the object at s.
func fields(data []byte, s span, first, second, third string) (a, b, c span) {
	for w := walkInto(data, s); ; {
		key, value, ok := w.member()
		switch {
		case !ok:
			return a, b, c
		case sameKey(key, first):
			a = value
		case sameKey(key, second):
			b = value
		case sameKey(key, third):
			c = value
		}
	}
}

// unquoted is what stands between the quotes of a text without escapes.
func unquoted(data []byte, s span) []byte {
	if !s.found() || s.opens(data) != '"' {
		return nil
	}
	return data[s.start+1 : s.end-1]
}
