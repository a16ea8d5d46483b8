package limitfile

import (
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A comparison is what nearly all expressions are: an entry of a descriptor, or whether it has a value, as in descriptors[0]['req.method'] == 'GET'. It is decided without CEL.
type comparison struct {
	descriptor int
	key        string
	// value is what the entry is compared with, if compares is true, and differs says that it must be another one.
	value             string
	compares, differs bool
}

// comparisonOf is what an expression says, if it is a comparison; nil otherwise.
func comparisonOf(e celast.Expr) *comparison {
	if e.Kind() == celast.CallKind && !e.AsCall().IsMemberFunction() {
		call := e.AsCall()
		if name := call.FunctionName(); (name == operators.Equals || name == operators.NotEquals) && len(call.Args()) == 2 {
			entry, value := call.Args()[0], call.Args()[1]
			if entry.Kind() == celast.LiteralKind {
				entry, value = value, entry
			}
			c := entryOf(entry)
			text, ok := literal[types.String](value)
			if c == nil || !ok {
				return nil
			}
			c.value, c.compares, c.differs = string(text), true, name == operators.NotEquals
			return c
		}
	}
	return entryOf(e)
}

// entryOf is descriptors[0].key, or descriptors[0]['key'].
func entryOf(e celast.Expr) *comparison {
	var of celast.Expr
	c := &comparison{}
	switch {
	case e.Kind() == celast.SelectKind && !e.AsSelect().IsTestOnly():
		of, c.key = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case isIndex(e):
		key, ok := literal[types.String](e.AsCall().Args()[1])
		if !ok {
			return nil
		}
		of, c.key = e.AsCall().Args()[0], string(key)
	default:
		return nil
	}
	if !isIndex(of) {
		return nil
	}
	list, place := of.AsCall().Args()[0], of.AsCall().Args()[1]
	number, ok := literal[types.Int](place)
	if !ok || list.Kind() != celast.IdentKind || list.AsIdent() != descriptorsName || number < 0 || number > 1<<30 {
		return nil
	}
	c.descriptor = int(number)
	return c
}

func isIndex(e celast.Expr) bool {
	return e.Kind() == celast.CallKind && e.AsCall().FunctionName() == operators.Index && len(e.AsCall().Args()) == 2
}

func literal[T any](e celast.Expr) (value T, ok bool) {
	if e.Kind() == celast.LiteralKind {
		value, ok = e.AsLiteral().(T)
	}
	return value, ok
}

// text is the entry; errAbsent if there is none.
func (c *comparison) text(descriptors []map[string]string) (string, error) {
	if c.descriptor < len(descriptors) {
		if value, ok := descriptors[c.descriptor][c.key]; ok {
			return value, nil
		}
	}
	return "", errAbsent
}

// test says whether the entry is there and compares as it must.
func (c *comparison) test(descriptors []map[string]string) bool {
	value, err := c.text(descriptors)
	return err == nil && (value == c.value) != c.differs
}
