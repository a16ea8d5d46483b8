package limit

import (
	"fmt"
	"unicode/utf8"
)

// Validate checks everything about r that does not depend on the stored limits; the limits that r defines itself must
// make a [Rule]. Its errors are *FieldError.
func (r Request) Validate() error {
	if err := ValidateKey(r.Key); err != nil {
		return err
	}
	switch {
	case len(r.Limits) == 0:
		return &FieldError{Field: "limits", Problem: "is empty: name at least one limit"}
	case len(r.Limits) > MaxLimits:
		return &FieldError{Field: "limits", Problem: fmt.Sprintf("%d limits are too many: at most %d", len(r.Limits), MaxLimits)}
	case r.Cost < 0:
		return &FieldError{Field: "cost", Problem: fmt.Sprintf("%d is negative: use 1 or more tokens", r.Cost)}
	case r.Look && r.Cost != 0:
		return &FieldError{Field: "cost", Problem: "a look takes no tokens: leave the cost out"}
	case r.Look && r.Wait != 0:
		return &FieldError{Field: "wait", Problem: "a look takes nothing, and so waits for nothing: leave the wait out"}
	case r.Extend != 0 && r.Wait != 0:
		return &FieldError{Field: "wait", Problem: "a permit is extended at once or not at all: leave the wait out"}
	case r.Extend != 0 && len(r.Limits) != 1:
		return &FieldError{Field: "limits", Problem: "has several limits: a permit belongs to one, the limit of its receipt"}
	case r.Extend != 0 && (r.Look || r.Cost != 0):
		return &FieldError{Field: "extend", Problem: "keeps what the permit has taken: leave cost and look out"}
	case len(r.ID) > MaxID:
		return &FieldError{Field: "request_id", Problem: fmt.Sprintf("%d bytes are too many: at most %d", len(r.ID), MaxID)}
	case !utf8.ValidString(r.ID):
		return &FieldError{Field: "request_id", Problem: "is not valid UTF-8"}
	}
	if err := ValidatePlan(r.Plan); err != nil {
		return err
	}
	if err := checkWait(r.Wait); err != nil {
		return err
	}
	if err := r.checkHold(); err != nil {
		return err
	}
	if err := r.checkLease(); err != nil {
		return err
	}
	if err := r.checkCharge(); err != nil {
		return err
	}
	for i, ref := range r.Limits {
		if err := ref.validate(); err != nil {
			return under(fmt.Sprintf("limits[%d]", i), err)
		}
		for _, before := range r.Limits[:i] {
			if before.Name == ref.Name {
				return &FieldError{Field: fmt.Sprintf("limits[%d]", i), Problem: fmt.Sprintf("%s is named twice", Quote(ref.Name))}
			}
		}
	}
	return nil
}

func (r Ref) validate() error {
	if err := validateName(r.Name); err != nil || r.Inline == nil {
		return err
	}
	_, err := r.inlineRule()
	return err
}

// ValidateKey checks that key is 1 to MaxKey bytes of UTF-8. Its errors are *FieldError with the field "key".
func ValidateKey(key string) error {
	switch {
	case key == "":
		return &FieldError{Field: "key", Problem: "is empty: name what is limited, such as user:42"}
	case len(key) > MaxKey:
		return &FieldError{Field: "key", Problem: fmt.Sprintf("%d bytes are too many: at most %d", len(key), MaxKey)}
	case !utf8.ValidString(key):
		return &FieldError{Field: "key", Problem: "is not valid UTF-8"}
	}
	return nil
}

// ValidateReturn checks a return of that many receipts of key: the key must be valid, and at most MaxReturn receipts are returned at once.
// Its errors are *FieldError.
func ValidateReturn(key string, receipts int) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if receipts > MaxReturn {
		return &FieldError{Field: "receipts", Problem: fmt.Sprintf("%d receipts are too many: at most %d", receipts, MaxReturn)}
	}
	return nil
}
