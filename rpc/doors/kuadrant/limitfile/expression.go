package limitfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// maxExpression is how many bytes an expression has at most.
const maxExpression = 4096

// maxCost is what one evaluation may cost, in units of CEL: a comparison of two entries costs 5.
const maxCost = 10_000

// An expression is a condition or a variable, in CEL.
type expression struct {
	source    string
	usesLimit bool
	simple    *comparison // what it says, if it is so simple that no CEL is needed
	program   cel.Program // otherwise
}

// environment is that of all expressions.
func environment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable(descriptorsName, cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.Variable(limitName, cel.MapType(cel.StringType, cel.DynType)),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(100),
	)
}

// A verdict is what is known of an expression when it is read.
type verdict struct {
	made    *expression
	unknown string // a name that it refers to and that no request has, so it never applies
	problem string // otherwise, why it cannot be used
}

// A kind says what an expression is for.
type kind struct {
	compares bool        // it is a condition
	types    []*cel.Type // of its values
}

// The kinds of expressions.
func conditions() kind { return kind{true, []*cel.Type{cel.BoolType}} }

func variables() kind {
	return kind{false, []*cel.Type{cel.StringType, cel.IntType, cel.UintType, cel.DoubleType, cel.BoolType, cel.NullType}}
}

// compile reads an expression.
func compile(env *cel.Env, source string, is kind) verdict {
	if len(source) > maxExpression {
		return verdict{problem: fmt.Sprintf("has %d bytes: at most %d", len(source), maxExpression)}
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return verdict{problem: "is no CEL: " + oneLine(issues)}
	}
	ast := parsed
	checked, issues := env.Check(parsed)
	switch {
	case issues.Err() == nil:
		ast = checked
	default:
		if name := unknownName(parsed); name != "" {
			return verdict{unknown: name}
		}
		if !comparesOnly(issues) {
			return verdict{problem: "can never be evaluated: " + oneLine(issues)}
		}
	}
	if of := ast.OutputType(); issues.Err() == nil && !isOneOf(of, is.types) {
		return verdict{problem: fmt.Sprintf("is of the type %s: write one that is %s", of, typeNames(is.types))}
	}
	e := &expression{source: source, usesLimit: refersTo(parsed, limitName)}
	if c := comparisonOf(parsed.NativeRep().Expr()); c != nil && c.compares == is.compares {
		e.simple = c
		return verdict{made: e}
	}
	var err error
	if e.program, err = env.Program(ast, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize)); err != nil {
		return verdict{problem: "can never be evaluated: " + err.Error()}
	}
	return verdict{made: e}
}

// oneLine is the first error of some, without the picture of the place.
func oneLine(issues *cel.Issues) string {
	first := issues.Errors()[0]
	return fmt.Sprintf("column %d: %s", first.Location.Column()+1, first.Message)
}

// comparesOnly says whether nothing is wrong but that values of different types are compared, which is false, and no mistake.
func comparesOnly(issues *cel.Issues) bool {
	for _, e := range issues.Errors() {
		if !strings.HasPrefix(e.Message, "found no matching overload for '_==_'") && !strings.HasPrefix(e.Message, "found no matching overload for '_!=_'") {
			return false
		}
	}
	return true
}

func isOneOf(t *cel.Type, may []*cel.Type) bool {
	if t.IsExactType(cel.DynType) {
		return true
	}
	return slices.ContainsFunc(may, t.IsExactType)
}

func typeNames(types []*cel.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}

// names are those that an expression refers to, and those that its comprehensions bind.
func names(parsed *cel.Ast) (used []string, bound map[string]bool) {
	bound = map[string]bool{}
	celast.PostOrderVisit(parsed.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.IdentKind:
			used = append(used, e.AsIdent())
		case celast.ComprehensionKind:
			c := e.AsComprehension()
			bound[c.IterVar()], bound[c.IterVar2()], bound[c.AccuVar()] = true, true, true
		default:
		}
	}))
	return used, bound
}

// unknownName is a name that an expression refers to and that no request has; empty if there is none.
func unknownName(parsed *cel.Ast) string {
	used, bound := names(parsed)
	for _, name := range used {
		if name != descriptorsName && name != limitName && !bound[name] {
			return name
		}
	}
	return ""
}

func refersTo(parsed *cel.Ast, name string) bool {
	used, _ := names(parsed)
	return slices.Contains(used, name)
}

// value evaluates an expression that needs CEL, and says what that has cost.
func (e *expression) value(v *values) (ref.Val, error) {
	out, details, err := e.program.Eval(v)
	if details != nil && details.ActualCost() != nil {
		v.spent += *details.ActualCost()
	}
	switch {
	case err == nil:
		return out, nil
	case isAbsence(err):
		return nil, errAbsent
	}
	return nil, fmt.Errorf("%q: %w", shorten(e.source), err)
}

// isAbsence says whether an evaluation failed because something is not there.
func isAbsence(err error) bool {
	text := err.Error()
	for _, begins := range []string{"no such key", "no such attribute", "index out of bounds", "index '"} {
		if strings.HasPrefix(text, begins) {
			return true
		}
	}
	return false
}

// test says whether a condition holds. One that needs what the request does not have does not.
func (e *expression) test(v *values) (bool, error) {
	if e.simple != nil {
		return e.simple.test(v.descriptors), nil
	}
	out, err := e.value(v)
	switch {
	case errors.Is(err, errAbsent):
		return false, nil
	case err != nil:
		return false, err
	}
	holds, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%q is of the type %s: a condition is true or false", shorten(e.source), out.Type().TypeName())
	}
	return bool(holds), nil
}

// text is the value of a variable. Its error is errAbsent where it needs what the request does not have.
func (e *expression) text(v *values) (string, error) {
	if e.simple != nil {
		return e.simple.text(v.descriptors)
	}
	out, err := e.value(v)
	if err != nil {
		return "", err
	}
	switch of := out.(type) {
	case types.String:
		return string(of), nil
	case types.Int:
		return strconv.FormatInt(int64(of), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(of), 10), nil
	case types.Double:
		return strconv.FormatFloat(float64(of), 'f', -1, 64), nil
	case types.Bool:
		return strconv.FormatBool(bool(of)), nil
	case types.Null:
		return "null", nil
	}
	return "", fmt.Errorf("%q is of the type %s: a variable is a text, a number, true, false or null", shorten(e.source), out.Type().TypeName())
}

// shorten is the beginning of an expression, for a message.
func shorten(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
