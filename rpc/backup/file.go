// Package backup is the file of `jeton cluster export`: what the operators of a cluster have agreed on, to be read by people and by
// `jeton cluster import`. It is JSON:
//
//	{
//	  "format": 1,
//	  "exported": {"at": …, "by": …, "node": …},
//	  "sha256": …                                  of the content, without white space
//	  "content": {"cluster": …, "limits": …, "overrides": …, "audit": …}
//	}
//
// The content of two exports of the same state has the same bytes. Start with [File.Encode] and [Decode].
package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Format is the form of the files that this release writes and reads.
const Format = 1

// MaxFile is how many bytes a file has at most.
const MaxFile = 64 << 20

// A File is one export.
type File struct {
	Format   int      `json:"format"`
	Exported Exported `json:"exported"`
	// SHA256 is the digest of the content, in hexadecimal.
	SHA256  string  `json:"sha256"`
	Content Content `json:"content"`
}

// Exported says how a file came to be.
type Exported struct {
	At   time.Time `json:"at"`
	By   string    `json:"by"`   // what the caller has shown, such as "token ann"
	Node string    `json:"node"` // that was asked
}

// Content is what a cluster's operators have agreed on. Buckets are no part of it.
type Content struct {
	Cluster   string     `json:"cluster"` // its id
	Limits    Limits     `json:"limits"`
	Overrides []Override `json:"overrides"` // those in force, by limit and key
	Audit     Audit      `json:"audit"`
}

// Limits are those in force.
type Limits struct {
	Version  uint64   `json:"version,string"`
	Document []string `json:"document"` // its lines
}

// Text is the limits document.
func (l *Limits) Text() []byte { return []byte(strings.Join(l.Document, "\n")) }

// Lines are a limits document as Limits has it.
func Lines(document []byte) []string { return strings.Split(string(document), "\n") }

// An Override is one that operators have set.
type Override struct {
	Limit string    `json:"limit"`
	Key   string    `json:"key"`
	Says  string    `json:"says"`
	Until time.Time `json:"until,omitzero"` // zero: it has no end
	At    time.Time `json:"at,omitzero"`    // when it was set
	Who   string    `json:"who,omitempty"`  // by whom
}

// Audit is the audit log, to be read: it is not imported.
type Audit struct {
	Dropped uint64  `json:"dropped,string"` // how many entries there were besides
	Entries []Entry `json:"entries"`        // the oldest first
}

// An Entry is one of the audit log.
type Entry struct {
	Number uint64    `json:"number,string"`
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	From   string    `json:"from,omitempty"`
	Node   string    `json:"node"`
	Verb   string    `json:"verb"`
	Object string    `json:"object,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// Encode is the file as text. It sets the format and the digest.
func (f *File) Encode() ([]byte, error) {
	content, err := plainJSON(f.Content, "")
	if err != nil {
		return nil, err
	}
	f.Format = Format
	if f.SHA256, err = digest(content); err != nil {
		return nil, err
	}
	return plainJSON(f, "  ")
}

// plainJSON is a value as JSON that people can read: < and > stay as they are.
func plainJSON(v any, indent string) ([]byte, error) {
	text := new(bytes.Buffer)
	e := json.NewEncoder(text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return text.Bytes(), err
}

// digest is that of a content as it stands in a file, whatever white space there is.
func digest(content []byte) (string, error) {
	compact := new(bytes.Buffer)
	if err := json.Compact(compact, content); err != nil {
		return "", err
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:]), nil
}
