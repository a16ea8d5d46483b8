package limit_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestOwnerIDText(t *testing.T) {
	id := limit.OwnerID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0xd, 0xe, 0xff}
	const want = "000102030405060708090a0b0c0d0eff"
	text, err := id.MarshalText()
	if err != nil || string(text) != want || id.String() != want {
		t.Fatalf("got %s and %s, %v, want %s", text, id, err, want)
	}
	for _, form := range []string{want, strings.ToUpper(want)} {
		var back limit.OwnerID
		if err := back.UnmarshalText([]byte(form)); err != nil || back != id {
			t.Errorf("%s reads back as %s, %v", form, back, err)
		}
	}
}

func TestOwnerIDTextInvalid(t *testing.T) {
	for name, text := range map[string]string{
		"empty":       "",
		"short":       strings.Repeat("0", 31),
		"one short":   strings.Repeat("0", 30),
		"one digit":   strings.Repeat("0", 33),
		"long":        strings.Repeat("0", 34),
		"not hex":     strings.Repeat("0", 31) + "g",
		"not hex yet": "x" + strings.Repeat("0", 31),
	} {
		t.Run(name, func(t *testing.T) {
			id := limit.OwnerID{1}
			wantFieldError(t, id.UnmarshalText([]byte(text)), "owner", "32 hexadecimal digits")
			if id != (limit.OwnerID{1}) {
				t.Errorf("an error changed the id to %s", id)
			}
		})
	}
}

func TestRef(t *testing.T) {
	if got := limit.Named("login"); got.Name != "login" || got.Inline != nil {
		t.Errorf("Named: %+v", got)
	}
	l := limit.Limit{Name: "burst", Capacity: 3}
	if got := limit.Inline(l); got.Name != "burst" || got.Inline == nil || *got.Inline != l {
		t.Errorf("Inline: %+v", got)
	}
}
