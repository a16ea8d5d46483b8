package limitfile

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The key of a group's buckets:
//
//	toystore|6b86b273ff34fce19d6b804eff5a3f57|alice|gold
//	namespace, conditions and variables, and the value of each variable in the order of their texts
//
// A backslash stands before each of \ | # in a namespace or a value, so two of them never have the same key.
const special = `\|#`

func appendEscaped(b []byte, text string) []byte {
	for i := range len(text) {
		if strings.IndexByte(special, text[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return b
}

// shortened is how many bytes of a key are kept beside its digest.
const shortened = 128

// fit is a key as it is, if it is one of jeton's: at most 512 bytes of UTF-8. Of another one it is how it begins, #, and its SHA-256. No other key has a # without a backslash.
func fit(b []byte) string {
	if len(b) <= limit.MaxKey && utf8.Valid(b) {
		return string(b)
	}
	digest := sha256.Sum256(b)
	begin := strings.ToValidUTF8(string(b[:min(len(b), shortened)]), "")
	begin = strings.TrimRight(begin, `\`)
	return begin + "#" + hex.EncodeToString(digest[:])
}
