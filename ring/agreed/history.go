package agreed

import (
	"errors"
	"fmt"
	"slices"
)

// What the history of the limits keeps at most, beside the version in force. When there is more, the oldest are dropped.
const (
	MaxEditions = 20      // versions, the one in force among them
	MaxHistory  = 1 << 20 // bytes of the documents that are in force no more, together
)

// ErrUnknownVersion refuses a version of the limits that the history does not have, or not any more.
var ErrUnknownVersion = errors.New("the history of the limits does not have this version")

// Edition finds a version of the limits, with its document.
func (s *State) Edition(version uint64) (Edition, error) {
	at := slices.IndexFunc(s.History, func(e Edition) bool { return e.Version == version })
	var found Edition
	switch {
	case at >= 0:
		found = s.History[at]
	case version == s.LimitsVersion && version > 0: // of a release without a history
		found.Version = version
	case len(s.History) == 0:
		return Edition{}, fmt.Errorf("%w: %d; there is only %d", ErrUnknownVersion, version, s.LimitsVersion)
	default:
		return Edition{}, fmt.Errorf("%w: %d; it has %d to %d", ErrUnknownVersion, version, s.History[0].Version, s.LimitsVersion)
	}
	if version == s.LimitsVersion {
		found.Limits = s.Limits
	}
	return found, nil
}

// edit notes in a draft that its limits have become those of a new version.
func (s *State) edit(before *State, by *Entry) {
	history := slices.Clone(s.History)
	if last := len(history) - 1; before.LimitsVersion > 0 {
		if last < 0 || history[last].Version != before.LimitsVersion { // it was put in force by a release without a history
			history = append(history, Edition{Version: before.LimitsVersion})
			last = len(history) - 1
		}
		history[last].Limits = before.Limits
	}
	now := Edition{Version: s.LimitsVersion}
	if by != nil {
		e := by.clipped()
		now.At, now.Who, now.From, now.Node, now.Detail = e.At, e.Who, e.From, e.Node, e.Detail
	}
	history = append(history, now)
	total := 0
	for i := range history {
		total += len(history[i].Limits)
	}
	dropped := 0
	for len(history)-dropped > MaxEditions || total > MaxHistory && dropped < len(history)-1 {
		total -= len(history[dropped].Limits)
		dropped++
	}
	s.History = slices.Clip(history[dropped:])
}
