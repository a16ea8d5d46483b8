package kuadrant

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A reservation is what an id of the door says. Its text:
//
//	jeton-1.mhyz3k2a.V5JTN3…KQ.AgEEdG95…
//	layout, when it was made in milliseconds, what tells it from others, and the text of each hold
type reservation struct {
	made  time.Time
	nonce string
	holds []limit.Hold
}

const (
	reservationLayout = "jeton-1"
	nonceLength       = 26                                  // of rand.Text
	maxReservation    = limit.MaxAll*limit.MaxHoldText + 64 // bytes of an id that is read
	timeBase          = 36
)

// newReservation is a reservation of now.
func newReservation(holds []limit.Hold) reservation {
	return reservation{made: time.UnixMilli(time.Now().UnixMilli()), nonce: rand.Text(), holds: holds}
}

// String is the id, which readReservation reads.
func (r reservation) String() string {
	parts := []string{reservationLayout, strconv.FormatInt(r.made.UnixMilli(), timeBase), r.nonce}
	for i := range r.holds {
		parts = append(parts, r.holds[i].String())
	}
	return strings.Join(parts, ".")
}

// readReservation reads an id. One that no door has made, or that was changed, is none.
func readReservation(id string) (r reservation, known bool) {
	if len(id) > maxReservation || !strings.HasPrefix(id, reservationLayout+".") {
		return r, false
	}
	parts := strings.Split(id, ".")
	if len(parts) < 3 || len(parts) > 3+limit.MaxAll {
		return r, false
	}
	made, err := strconv.ParseInt(parts[1], timeBase, 64)
	if err != nil || made < 0 || made > time.Now().Add(time.Hour).UnixMilli() || strconv.FormatInt(made, timeBase) != parts[1] || !isNonce(parts[2]) {
		return r, false
	}
	r.made, r.nonce = time.UnixMilli(made), parts[2]
	for _, text := range parts[3:] {
		h, err := limit.ParseHold(text)
		if err != nil {
			return reservation{}, false
		}
		r.holds = append(r.holds, h)
	}
	return r, true
}

// isNonce says whether text can be of rand.Text, in the alphabet of RFC 4648's base32.
func isNonce(text string) bool {
	return len(text) == nonceLength && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
