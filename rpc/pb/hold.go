package pb

import (
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A holdRoom is memory to read and write the texts of holds in.
type holdRoom struct {
	limit.HoldReader

	text []byte
}

var holdRooms sync.Pool // of *holdRoom

func takeHoldRoom() *holdRoom {
	if room, ok := holdRooms.Get().(*holdRoom); ok {
		return room
	}
	return &holdRoom{}
}

// textOf is the text of a hold.
func textOf(h *limit.Hold) string {
	room := takeHoldRoom()
	defer holdRooms.Put(room)
	room.text = h.AppendTo(room.text[:0])
	return string(room.text)
}

// readHold reads the text of a hold, with room for its limits.
func readHold(text string, limits []limit.Held) (limit.Hold, error) {
	room := takeHoldRoom()
	defer holdRooms.Put(room)
	return room.Read(text, limits)
}
