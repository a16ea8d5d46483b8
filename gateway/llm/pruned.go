package llm

// pruned keeps of a JSON document, which comes in pieces, only the members of its outermost object that are wanted. The values of all others
// become null: an answer with log probabilities is hundreds of times as long as what is read of it. What it keeps of a document that is
// not valid is anything.
type pruned struct {
	wanted func(key []byte) bool
	kept   []byte

	depth   int
	quoted  bool // within a text
	escaped bool // after a backslash
	key     int  // where the last key begins in kept
	value   bool // within a value of the outermost object
	drop    bool // which is not wanted
}

// add reads a piece, and stops where more than most bytes would be kept.
func (d *pruned) add(p []byte, most int) (ok bool) {
	for _, c := range p {
		if d.quoted {
			d.within(c)
		} else {
			d.between(c)
		}
		if len(d.kept) > most {
			return false
		}
	}
	return true
}

func (d *pruned) keep(c byte) {
	if !d.drop {
		d.kept = append(d.kept, c)
	}
}

// within reads a byte of a text.
func (d *pruned) within(c byte) {
	d.keep(c)
	switch {
	case d.escaped:
		d.escaped = false
	case c == '\\':
		d.escaped = true
	case c == '"':
		d.quoted = false
	}
}

// between reads a byte outside of texts.
func (d *pruned) between(c byte) {
	outermost := d.depth == 1
	switch c {
	case '"':
		d.quoted = true
		if outermost && !d.value {
			d.key = len(d.kept) + 1
		}
	case '{', '[':
		d.depth++
	case '}', ']':
		if d.depth--; outermost {
			d.value, d.drop = false, false
		}
	case ',':
		if outermost {
			d.value, d.drop = false, false
		}
	case ':':
		if outermost {
			d.begin()
			return
		}
	}
	d.keep(c)
}

// begin begins a value of the outermost object.
func (d *pruned) begin() {
	end := len(d.kept)
	for end > d.key && d.kept[end-1] != '"' { // white space before the colon
		end--
	}
	d.keep(':')
	d.value = true
	if d.drop = end <= d.key || !d.wanted(d.kept[d.key:end-1]); d.drop {
		d.kept = append(d.kept, "null"...)
	}
}
