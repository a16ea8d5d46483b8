package simulation

// level draws one of three: nothing, a little, very much.
func level(d *die, low, hostile int64) int64 { return pick(d, int64(0), low, hostile) }

// A planner draws the items of a scenario.
type planner struct {
	*scenario

	die     *die
	ids     uint64
	changes []item // of limits
}

func (p *planner) plan(at int64, i item) uint64 {
	p.ids++
	i.id, i.at = p.ids, at
	p.items = append(p.items, i)
	return p.ids
}

// members draws which nodes are to be members: three to five, mostly.
func (p *planner) members() (mask uint) {
	d := p.die
	want := int(d.between(4, 5))
	for n := 0; n < want; {
		if slot := d.below(maxSlots); mask>>slot&1 == 0 {
			mask |= 1 << slot
			n++
		}
	}
	return mask
}
