package agreed

import "slices"

// What the audit log keeps at most: the newest entries of each kind, so that none pushes out those of another. Their numbers tell how
// many are missing.
const (
	MaxResets  = 200 // entries of VerbReset: programs reset buckets too
	MaxBuckets = 400 // of what people did to buckets: fills and overrides
	MaxOthers  = 400 // of all else: limits, drains, removals, recoveries
	MaxEntries = MaxResets + MaxBuckets + MaxOthers
	MaxTexts   = 512 // bytes of the texts of an entry, on the average of those of its kind
)

// The verbs of the audit log. VerbReset is that of buckets that were filled through the API for programs.
const (
	VerbReset = "reset"

	VerbFill          = "fill"
	VerbSetOverride   = "set override"
	VerbUnsetOverride = "unset override"

	VerbSetLimits = "set limits"
	VerbDrain     = "drain"
	VerbUndoDrain = "undo drain"
	VerbRemove    = "remove"
	VerbRecover   = "recover"
	VerbImport    = "import"
	VerbUpgrade   = "upgrade"
)

// share is how many entries of the kind of a verb are kept, and the kind by its first verb.
func share(verb string) (kind string, entries int) {
	switch verb {
	case VerbReset:
		return VerbReset, MaxResets
	case VerbFill, VerbSetOverride, VerbUnsetOverride:
		return VerbFill, MaxBuckets
	}
	return "", MaxOthers
}

// audit adds an entry to the log of a draft, unless it is there already. It says whether it did.
func (s *State) audit(e Entry) bool {
	e = e.clipped()
	if slices.ContainsFunc(s.Audit, e.same) {
		return false
	}
	e.Number = 1
	if last := len(s.Audit) - 1; last >= 0 {
		e.Number = s.Audit[last].Number + 1
	}
	s.Audit = newest(append(slices.Clone(s.Audit), e)) // a draft shares the log of the state before
	return true
}

// newest are the entries that are kept of some, in their order: of each kind, the newest that its share has room for.
func newest(all []Entry) []Entry {
	count, texts := map[string]int{}, map[string]int{}
	kept := make([]Entry, 0, len(all))
	for _, e := range slices.Backward(all) {
		kind, most := share(e.Verb)
		count[kind]++
		texts[kind] += e.size()
		if count[kind] <= most && texts[kind] <= most*MaxTexts {
			kept = append(kept, e)
		}
	}
	slices.Reverse(kept)
	return slices.Clip(kept)
}

// A Note writes entries into the audit log of what no other command does, such as buckets that were filled. Entries that are
// there already are passed over.
type Note struct {
	Entries []Entry `json:"entries"`
}

// Apply implements applier.
func (c *Note) Apply(s *State) (*State, error) {
	next, added := s.draft(), false
	for _, e := range c.Entries {
		added = next.audit(e) || added
	}
	if !added {
		return s, nil
	}
	return next, nil
}
