package limitfile

import (
	"cel.dev/cel-go/interpreter"
)

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
