package denial

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The errors of [Memory.Recall].
var (
	// ErrForgotten means that the denial has given way to newer ones, that the gateway was restarted since, or that there
	// was none with that id.
	ErrForgotten = errors.New("no record of this denial: it is too old, or the gateway has been restarted since")
	// ErrElsewhere means that the id is another gateway's, which the error names: it is the one to ask.
	ErrElsewhere = errors.New("this denial was made by another gateway")
	// ErrMalformed means that the text is no id.
	ErrMalformed = errors.New("this is not the id of a denial: write it as the client got it, such as edge-1-4f-k7wq2m5ttzrcx3ha; of a key, jeton bucket LIMIT KEY shows the bucket")
)

// The parts of an id:
//
//	<gateway>-<number>-<random>
//	gateway   1 to 32 lower-case letters, digits and dashes
//	number    of the denial at this gateway, counted from 1, in base 36
//	random    80 bits in base 32
//
// The number finds the record; the random part proves that the caller knows the id and has not guessed it.
const (
	maxName    = 32
	numberBase = 36
	maxNumber  = 13 // digits of the greatest number
	randomSize = 10 // bytes
	randomText = 16 // digits
)

// alphabet is that of RFC 4648 base 32, in lower case.
var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Name is the name of a gateway as its ids have it: in lower case, a dash for everything but letters and digits, cut
// to 32 bytes. An empty name is "gateway".
func Name(gateway string) string {
	if gateway == "" {
		return "gateway"
	}
	name := []byte(gateway[:min(len(gateway), maxName)])
	for i, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			name[i] = c + 'a' - 'A'
		case !plain(c):
			name[i] = '-'
		}
	}
	return string(name)
}

// plain says whether c is a lower-case letter or a digit.
func plain(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// newID makes the id of the denial with that number.
func newID(name string, number uint64) string {
	var secret [randomSize]byte
	_, _ = rand.Read(secret[:]) // never fails
	id := make([]byte, 0, maxName+1+maxNumber+1+randomText)
	id = append(id, name...)
	id = append(id, '-')
	id = strconv.AppendUint(id, number, numberBase)
	id = append(id, '-')
	return string(alphabet.AppendEncode(id, secret[:]))
}

// parse takes an id apart. Its errors are ErrMalformed.
func parse(id string) (name string, number uint64, err error) {
	rest, secret, _ := cutLast(id)
	name, digits, ok := cutLast(rest)
	if !ok || name == "" || len(name) > maxName || len(secret) != randomText || len(digits) > maxNumber {
		return "", 0, malformed(id)
	}
	for i := range len(name) {
		if !plain(name[i]) && name[i] != '-' {
			return "", 0, malformed(id)
		}
	}
	if raw, err := alphabet.DecodeString(secret); err != nil || alphabet.EncodeToString(raw) != secret {
		return "", 0, malformed(id)
	}
	number, err = strconv.ParseUint(digits, numberBase, 64)
	if err != nil || number == 0 || strconv.FormatUint(number, numberBase) != digits {
		return "", 0, malformed(id)
	}
	return name, number, nil
}

// cutLast cuts s at its last dash.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

func malformed(id string) error { return fmt.Errorf("%w: %.80q", ErrMalformed, id) }

// GatewayOf is the [Name] of the gateway that made id. Its error is ErrMalformed.
func GatewayOf(id string) (string, error) {
	name, _, err := parse(id)
	return name, err
}
