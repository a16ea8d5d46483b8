package redis

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// digestMark stands before the digest in a key that stands for another one.
	digestMark = "~sha256:"
	// readable is how many bytes of a key are shown before its digest, at most.
	readable = 64
)

// keyOf is the key of jeton that a key of Redis has: itself, if that can be a key. Otherwise, if it is empty, longer than 512 bytes or not
// UTF-8, it is the beginning of it, the mark and its digest. So is a key that looks like such a one: no two keys have the same.
func keyOf(key []byte) string {
	if limit.ValidateKey(string(key)) == nil && !looksDigested(key) {
		return string(key)
	}
	digest := sha256.Sum256(key)
	return beginning(key) + digestMark + hex.EncodeToString(digest[:])
}

// looksDigested says whether key ends as one with a digest does.
func looksDigested(key []byte) bool {
	at := len(key) - 2*sha256.Size - len(digestMark)
	return at >= 0 && string(key[at:at+len(digestMark)]) == digestMark
}

// beginning is the readable beginning of key, without what is no UTF-8.
func beginning(key []byte) string {
	if len(key) > readable {
		end := readable
		for end > readable-utf8.UTFMax && !utf8.RuneStart(key[end]) {
			end--
		}
		key = key[:end]
	}
	return strings.ToValidUTF8(string(key), "")
}
