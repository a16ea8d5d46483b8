package limit

// A countedWindow is a fixed window whose admissions are counted as one entry for each window, with the holds beside it: so whichever
// owner settles a hold knows of it, in windows that are too long to wait for the next one after an owner has died.
type countedWindow struct{ fixedWindow }

func newCountedWindow(l Limit, w fixedWindow) (*Rule, error) {
	r, err := newCounted(l, MaxCount)
	if err != nil {
		return nil, err
	}
	r.exact = true
	r.register = l.Name + "@counted/" + w.shape()
	r.counts(countedWindow{w})
	return r, nil
}

// Slot is the window that t lies in.
func (w countedWindow) Slot(t int64) (at, until int64) { return w.window(t) }

// Ends is the end of the window.
func (w countedWindow) Ends(at int64) int64 {
	_, end := w.window(at)
	return end
}

// Lasts is the length of the longest window.
func (w countedWindow) Lasts() int64 { return w.longest() }

// Counted is the whole amount.
func (countedWindow) Counted(_, amount, _ int64) int64 { return amount }

// Steps is true.
func (countedWindow) Steps() bool { return true }

// Permits is false.
func (countedWindow) Permits() bool { return false }
