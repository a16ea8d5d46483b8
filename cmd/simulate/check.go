package simulate

// A check is a line of a log that says who asked, when, and for how much.
type check struct {
	at   int64 // nanoseconds since the Unix epoch
	cost int64
	line int64 // of its log
	key  int32 // in an intern
	plan int   // from 1 on, of those that the reader knows; 0 for none
}

// An intern numbers keys, so that each is kept once.
type intern struct {
	ids   map[string]int32
	names []string
}

// id is the number of a key.
func (in *intern) id(key []byte) int32 {
	if id, ok := in.ids[string(key)]; ok {
		return id
	}
	id := int32(len(in.names)) //nolint:gosec // memory ends long before
	in.names = append(in.names, string(key))
	in.ids[in.names[id]] = id
	return id
}
