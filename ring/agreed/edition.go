package agreed

// An Edition is a version of the limits document: who put it in force, when, and what it changed.
type Edition struct {
	Version uint64 `json:"version"`
	// At is when the node was asked, in nanoseconds since the Unix epoch; 0 where it is not known. Who, From, Node and Detail
	// are those of the audit log's entry.
	At     int64  `json:"at,omitempty"`
	Who    string `json:"who,omitempty"`
	From   string `json:"from,omitempty"`
	Node   string `json:"node,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Limits is the document, without that of the version in force, which is the state's.
	Limits Document `json:"limits,omitempty"`
}
