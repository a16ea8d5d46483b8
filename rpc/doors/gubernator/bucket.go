package gubernator

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The name of a limit is gubernator's behind a prefix. A name that is no name of a limit in jeton, or too long, is replaced by its
// beginning and a digest, behind another prefix: so no two names become one.
//
//	requests_per_second → gub.requests_per_second
//	requests per second → gub-requests-per-second-4k2n…
const (
	plainPrefix  = "gub."
	digestPrefix = "gub-"
	digestBytes  = 20 // of SHA-256, which are 32 digits in base 32
	readable     = limit.MaxName - len(digestPrefix) - 1 - digestBytes*8/5
)

var digits = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func limitName(name string) string {
	if len(plainPrefix)+len(name) <= limit.MaxName && strings.IndexFunc(name, foreign) < 0 {
		return plainPrefix + name
	}
	begin := strings.Map(func(r rune) rune {
		if foreign(r) {
			return '-'
		}
		return r
	}, name[:min(len(name), readable)])
	sum := sha256.Sum256([]byte(name))
	return digestPrefix + begin[:min(len(begin), readable)] + "-" + digits.EncodeToString(sum[:digestBytes])
}

// foreign says whether names of limits cannot have r.
func foreign(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
}

// A key is unique_key. One that is too long for a key, or not UTF-8, is replaced by its beginning, this mark and its digest, and so is
// one that looks like that already.
const keyMark = "~sha256:"

func bucketKey(unique string) string {
	if len(unique) <= limit.MaxKey && utf8.ValidString(unique) && !looksDigested(unique) {
		return unique
	}
	begin := validStart(unique[:min(len(unique), limit.MaxKey-len(keyMark)-hex.EncodedLen(sha256.Size))])
	sum := sha256.Sum256([]byte(unique))
	return begin + keyMark + hex.EncodeToString(sum[:])
}

// looksDigested says whether key ends as bucketKey has a digest end.
func looksDigested(key string) bool {
	at := len(key) - len(keyMark) - hex.EncodedLen(sha256.Size)
	return at >= 0 && strings.HasPrefix(key[at:], keyMark)
}

// validStart is s up to its first byte that is not UTF-8.
func validStart(s string) string {
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		if r == utf8.RuneError && size <= 1 {
			return s[:at]
		}
		at += size
	}
	return s
}
