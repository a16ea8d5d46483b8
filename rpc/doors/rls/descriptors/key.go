package descriptors

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

// AppendKey appends the key of a descriptor's buckets to b:
//
//	messaging|message_type=marketing|to_number=2061111111
//
// An entry that shares its bucket has ~ and the pattern in place of = and its value. A backslash stands before each of \ | = ~ # in a
// name or a value, so two descriptors never have the same key. Steps are those of Match; none for a limit that the request defines.
func AppendKey(b []byte, domain string, entries []Entry, steps []Step) []byte {
	b = appendEscaped(b, domain)
	for i, e := range entries {
		b = append(b, '|')
		b = appendEscaped(b, e.Key)
		if i < len(steps) && steps[i].shared {
			b = append(b, '~')
			b = appendEscaped(b, steps[i].pattern)
			continue
		}
		b = append(b, '=')
		b = appendEscaped(b, e.Value)
	}
	return b
}

const special = `\|=~#`

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

// Key is the key that AppendKey has made, if it is one of jeton's: at most 512 bytes of UTF-8. Of another one it is how it begins, #,
// and its SHA-256. No other key has a # without a backslash.
func Key(b []byte) string {
	if len(b) <= limit.MaxKey && utf8.Valid(b) {
		return string(b)
	}
	digest := sha256.Sum256(b)
	begin := strings.ToValidUTF8(string(b[:min(len(b), shortened)]), "")
	begin = strings.TrimRight(begin, `\`)
	return begin + "#" + hex.EncodeToString(digest[:])
}
