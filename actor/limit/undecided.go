package limit

// An UndecidedError is that of a check of several limits of which some have a decision, and the others none: an edge has decided what it may, and no node the rest.
// What the edge took is kept, until its receipts are returned or time has brought it back.
type UndecidedError struct {
	// Limits have no decision, in the order of the request.
	Limits []Ref
	// Decided is what the other limits say: they admit. It has receipts of what they took, whether the request asks for them or not.
	Decided Decision
	// Err is why there is no decision about the rest.
	Err error
}

// Error is why there is no decision.
func (e *UndecidedError) Error() string { return e.Err.Error() }

// Unwrap is why there is no decision.
func (e *UndecidedError) Unwrap() error { return e.Err }
