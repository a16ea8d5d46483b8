package agreed

import "fmt"

// What commands do to overrides.

// Apply implements applier.
func (c *SetOverride) Apply(s *State) (*State, error) {
	k := OverrideKey{c.Limit, c.Key}
	size := len(c.Limit) + len(c.Key) + len(c.Says) + len(c.Who)
	switch {
	case c.Limit == "" || c.Key == "" || c.Says == "":
		return nil, fmt.Errorf("%w: an override needs a limit, a key and what it says", ErrInvalid)
	case size > MaxOverride:
		return nil, fmt.Errorf("%w: an override of %d bytes; at most %d", ErrInvalid, size, MaxOverride)
	}
	for _, text := range []string{c.Limit, c.Key, c.Says, c.Who} {
		if err := checkLimits([]byte(text)); err != nil {
			return nil, fmt.Errorf("%w: an override is not UTF-8", ErrInvalid)
		}
	}
	if c.Reach != 0 {
		if err := checkReach(c.Limit, c.Reach, c.At); err != nil {
			return nil, err
		}
	}
	was, had := s.Overrides.Find(k)
	if had && was == c.Override {
		return s, nil
	}
	if had && was.At > c.At {
		return nil, fmt.Errorf("%w: the override of %s for %s was set since", ErrStale, c.Limit, c.Key)
	}
	next := s.draft()
	next.Overrides = s.Overrides.with(k, &c.Override, c.At)
	if next.Overrides.refuses(s.Overrides, c.Limit) != nil {
		for _, k := range next.Overrides.ended(c.At) { // they make room
			next.Overrides = next.Overrides.with(k, nil, c.At)
		}
	}
	if err := next.Overrides.refuses(s.Overrides, c.Limit); err != nil {
		return nil, err
	}
	next.leave(s.Overrides, c.At)
	return next, nil
}

// refuses says why these overrides, in which one of a limit was set, are more than there may be.
func (o *Overrides) refuses(before *Overrides, limit string) error {
	if o.Len() > MaxOverrides {
		return fmt.Errorf("%w: there are %d overrides, and there may be no more: unset some", ErrTooMany, MaxOverrides)
	}
	if n := o.Lengths(limit); n > MaxLengths && n > before.Lengths(limit) {
		return fmt.Errorf("%w: key: the prefixes of the overrides of %s have %d lengths, and may have no more, since a check looks once for each: "+
			"write one that is as long as another, or unset all of one length", ErrTooMany, limit, MaxLengths)
	}
	return nil
}

// Apply implements applier.
func (c *UnsetOverride) Apply(s *State) (*State, error) {
	k := OverrideKey{c.Limit, c.Key}
	was, had := s.Overrides.Find(k)
	switch {
	case !had:
		return s, nil
	case was.At > c.At:
		return nil, fmt.Errorf("%w: the override of %s for %s was set since", ErrStale, c.Limit, c.Key)
	}
	next := s.draft()
	next.Overrides = s.Overrides.with(k, nil, c.At)
	next.leave(s.Overrides, c.At)
	return next, nil
}
