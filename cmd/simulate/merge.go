package simulate

import "errors"

// A merger gives the checks of several logs in the order of time.
type merger []*source

// open begins to read logs.
func open(logs []Log, r *reader) (merger, error) {
	if err := r.fields.check(); err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, errors.New("no log: name one, or - for standard input")
	}
	var all merger
	for _, log := range logs {
		s, err := openSource(log, r)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// next is the earliest check of all logs; ok is false when there is none any more.
func (m merger) next() (c check, ok bool, err error) {
	var first *source
	for _, s := range m {
		if len(s.held) > 0 && (first == nil || s.held[0].at < first.held[0].at) {
			first = s
		}
	}
	if first == nil {
		return c, false, nil
	}
	c, err = first.next()
	return c, true, err
}
