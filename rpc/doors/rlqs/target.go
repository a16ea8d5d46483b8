package rlqs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The entries of a BucketId that say which bucket it is. All others are part of the key.
const (
	limitEntry = "limit"
	keyEntry   = "key"
)

// The bounds of a BucketId.
const (
	maxEntries = 16
	maxIDBytes = 1 << 10
)

// A target is the bucket of jeton that a BucketId names.
type target struct{ limit, key string }

// targetOf reads a BucketId. Its key is that of the entry key, and behind it the other entries in the order of their names:
//
//	{limit: api, key: user:42}                     user:42
//	{limit: api, key: user:42, method: GET}        user:42|method=GET
//	{limit: api, method: GET, user: 42}            method=GET|user=42
//
// A backslash stands before each of \ | = # in an entry, so two BucketIds never have the same key. The error says what the BucketId lacks.
func targetOf(bucket map[string]string) (target, error) {
	size := 0
	for name, value := range bucket {
		size += len(name) + len(value)
	}
	switch {
	case len(bucket) > maxEntries || size > maxIDBytes:
		return target{}, fmt.Errorf("the bucket id is too large: at most %d entries with %d bytes in all", maxEntries, maxIDBytes)
	case bucket[limitEntry] == "":
		return target{}, fmt.Errorf("the bucket id has no entry %q: name a stored limit in it", limitEntry)
	}
	var b []byte
	if key, ok := bucket[keyEntry]; ok {
		b = appendEscaped(b, key)
	}
	for _, name := range slices.Sorted(maps.Keys(bucket)) {
		if name == limitEntry || name == keyEntry {
			continue
		}
		if _, keyed := bucket[keyEntry]; keyed || len(b) > 0 {
			b = append(b, '|')
		}
		b = appendEscaped(b, name)
		b = append(b, '=')
		b = appendEscaped(b, bucket[name])
	}
	if len(b) == 0 {
		return target{}, fmt.Errorf("the bucket id has no entry %q: say in it who is limited", keyEntry)
	}
	return target{bucket[limitEntry], fitting(b)}, nil
}

func appendEscaped(b []byte, text string) []byte {
	for i := range len(text) {
		if strings.IndexByte(`\|=#`, text[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return b
}

// shortened is how many bytes of a key are kept beside its digest.
const shortened = 128

// fitting is a key of jeton's: b if that has at most 512 bytes of UTF-8, and otherwise how it begins, #, and its SHA-256. No other key has a # without a backslash.
func fitting(b []byte) string {
	if len(b) <= limit.MaxKey && utf8.Valid(b) {
		return string(b)
	}
	digest := sha256.Sum256(b)
	begin := strings.ToValidUTF8(string(b[:min(len(b), shortened)]), "")
	return strings.TrimRight(begin, `\`) + "#" + hex.EncodeToString(digest[:])
}
