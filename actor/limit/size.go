package limit

import (
	"fmt"
	"unsafe"
)

// MaxDocument is how many bytes a limits document has at most that is put in force: about eight thousand limits. All nodes keep it,
// with its last versions, and all clients get it.
const MaxDocument = 1 << 20

// ReadDocument is [ParseDocument] for a document on its way in. One that has more than [MaxDocument] bytes is not read.
func ReadDocument(text []byte) (*Document, error) {
	if err := CheckSize(int64(len(text))); err != nil {
		return nil, err
	}
	return ParseDocument(text)
}

// CheckSize refuses a limits document of so many bytes if that is more than [MaxDocument]. The error is a *FieldError.
func CheckSize(bytes int64) error {
	if bytes <= MaxDocument {
		return nil
	}
	return &FieldError{Field: "document", Problem: fmt.Sprintf(
		"has %d bytes; a limits document has at most %d (1 MiB): define fewer limits, or leave out comments", bytes, MaxDocument)}
}

// Bytes is about how much memory the rule takes if a request has defined it, with its texts and its algorithm. A stored rule is its
// document's, and one that is remembered for others is one of a few: they take none, 0.
func (r *Rule) Bytes() int64 {
	if !r.Inline || r.shared {
		return 0
	}
	texts := len(r.Name) + len(r.Algorithm) + len(r.Per) + len(r.Timezone) + len(r.Anchor) + len(r.OnUnavailable) + len(r.register)
	return int64(unsafe.Sizeof(*r)+unsafe.Sizeof(fixedWindow{})) + int64(texts)
}
