package limitfile

import (
	"errors"

	"cel.dev/cel-go/interpreter"
)

// What expressions may refer to.
const (
	descriptorsName = "descriptors" // the entries of each descriptor of the request
	limitName       = "limit"       // the limit's name and id
)

// errAbsent says that an expression needs an entry, or a descriptor, that the request does not have.
var errAbsent = errors.New("the request has no such entry")

// values are what the expressions of one limit see of one request.
type values struct {
	descriptors []map[string]string
	limit       map[string]any
	spent       uint64 // what the evaluations have cost so far
}

var _ interpreter.Activation = (*values)(nil)

// ResolveName implements interpreter.Activation.
func (v *values) ResolveName(name string) (any, bool) {
	switch name {
	case descriptorsName:
		return v.descriptors, true
	case limitName:
		return v.limit, true
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (*values) Parent() interpreter.Activation { return nil }
