// Package spine reads from the coverage of many equal requests which functions run for each of them, and which of those call one
// another across files: the path that a reader of the code walks to understand one request.
//
// A file is on the path if a function in it runs for every request. It is on the spine if such a function leads to the decision:
// if it decides, hands the request to another process, or calls what does. The others are leaves, which a reader may take by
// their names. Start with [Read].
package spine

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/cover"
	"golang.org/x/tools/go/packages"
)

// A Path is what runs for every request.
type Path struct {
	// Functions are those that run, by file, sorted. Files are named relative to the module.
	Functions map[string][]string
	// Spine are the files that have functions which lead to the decision, sorted, with the names of these.
	Spine map[string][]string
	// Changes are the changes of file on the spine: which functions of the second file those of the first one call, sorted.
	Changes map[[2]string][]string
}

// A function is one that runs for every request.
type function struct {
	file, name string
	receiver   string          // the name of its type; empty for none
	methods    map[string]bool // of the receiver's type
	signature  string
	body       *ast.BlockStmt
	source     *packages.Package
	calls      []*function
	leads      bool        // to the decision
	given      []*function // what functions that are its arguments call
	passedBy   []*function // those that hand their own such arguments on to it
	givenLeads bool        // one of its arguments leads to the decision
}

// Read finds in the module at root what the profile counts at least n times. Generated files do not count: nobody reads them.
func Read(root, profile string, n int) (*Path, error) { return read(root, profile, n, "./...") }

func read(root, profile string, n int, patterns ...string) (*Path, error) {
	profiles, err := cover.ParseProfiles(profile)
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	counted := map[string][]cover.ProfileBlock{}
	for _, p := range profiles {
		counted[p.FileName] = p.Blocks
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedImports | packages.NeedExportFile | packages.NeedModule,
		Dir: root,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", root, err)
	}
	r := &reader{n: n, counted: counted, byName: map[string][]*function{}, held: map[*types.Var][]*types.Func{}}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("loading %s: %w", p.PkgPath, p.Errors[0])
		}
		r.findFunctions(p)
	}
	return r.path(), nil
}

type reader struct {
	n       int
	counted map[string][]cover.ProfileBlock // by import path and name of the file
	found   []*function
	byName  map[string][]*function
	held    map[*types.Var][]*types.Func
}

// findFunctions collects the functions of a package that run for every request.
func (r *reader) findFunctions(p *packages.Package) {
	for _, f := range p.Syntax {
		if ast.IsGenerated(f) {
			continue
		}
		r.findHeld(p, f)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !r.runs(p, fn.Body) {
				continue
			}
			found := &function{
				file: fileOf(p, fn.Pos()), name: fn.Name.Name, body: fn.Body, source: p, signature: p.TypesInfo.TypeOf(fn.Name).String(),
			}
			if fn.Recv != nil {
				found.receiver, found.methods = receiverOf(p, fn)
			}
			r.found = append(r.found, found)
			r.byName[found.name] = append(r.byName[found.name], found)
		}
	}
}

func fileOf(p *packages.Package, at token.Pos) string {
	name := p.Fset.Position(at).Filename
	return strings.TrimPrefix(p.PkgPath, p.Module.Path+"/") + name[strings.LastIndexByte(name, '/'):]
}

// runs says whether a statement of a body, closures left out, is counted often enough.
func (r *reader) runs(p *packages.Package, body *ast.BlockStmt) bool {
	for _, s := range body.List {
		if r.often(p, s.Pos()) {
			return true
		}
	}
	return false
}

// often says whether the innermost block around a position is counted often enough.
func (r *reader) often(p *packages.Package, at token.Pos) bool {
	pos := p.Fset.Position(at)
	name := p.PkgPath + pos.Filename[strings.LastIndexByte(pos.Filename, '/'):]
	count, width := 0, -1
	for _, b := range r.counted[name] {
		starts := cmp.Or(cmp.Compare(b.StartLine, pos.Line), cmp.Compare(b.StartCol, pos.Column)) <= 0
		ends := cmp.Or(cmp.Compare(b.EndLine, pos.Line), cmp.Compare(b.EndCol, pos.Column)) > 0
		if lines := b.EndLine - b.StartLine; starts && ends && (width < 0 || lines <= width) {
			count, width = b.Count, lines
		}
	}
	return count >= r.n
}

// receiverOf is the name of a method's type, and the names of all its methods.
func receiverOf(p *packages.Package, fn *ast.FuncDecl) (string, map[string]bool) {
	object, ok := p.TypesInfo.Defs[fn.Name].(*types.Func)
	if !ok {
		return "", nil
	}
	of := object.Signature().Recv().Type()
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	methods := map[string]bool{}
	set := types.NewMethodSet(types.NewPointer(of))
	for m := range set.Methods() {
		methods[m.Obj().Name()] = true
	}
	if named, ok := of.(*types.Named); ok {
		return named.Obj().Name(), methods
	}
	return "", methods
}

// path follows the calls of the functions that were found.
func (r *reader) path() *Path {
	for _, f := range r.found {
		r.follow(f, f.body)
	}
	for again := true; again; {
		again = false
		for _, f := range r.found {
			given := f.givenLeads || slices.ContainsFunc(f.given, leads) || slices.ContainsFunc(f.passedBy, givenLeads)
			all := f.leads || given || slices.ContainsFunc(f.calls, leads)
			again = again || given != f.givenLeads || all != f.leads
			f.leads, f.givenLeads = all, given
		}
	}
	p := &Path{Functions: map[string][]string{}, Spine: map[string][]string{}, Changes: map[[2]string][]string{}}
	for _, f := range r.found {
		p.Functions[f.file] = append(p.Functions[f.file], f.String())
		if !f.leads {
			continue
		}
		p.Spine[f.file] = append(p.Spine[f.file], f.String())
		for _, to := range f.calls {
			if pair := [2]string{f.file, to.file}; to.leads && to.file != f.file && !slices.Contains(p.Changes[pair], to.String()) {
				p.Changes[pair] = append(p.Changes[pair], to.String())
			}
		}
	}
	for _, names := range []map[string][]string{p.Functions, p.Spine} {
		for _, n := range names {
			slices.Sort(n)
		}
	}
	return p
}

func (f *function) String() string {
	if f.receiver != "" {
		return f.receiver + "." + f.name
	}
	return f.name
}

func leads(f *function) bool      { return f.leads }
func givenLeads(f *function) bool { return f.givenLeads }

// follow adds to from what a body in it calls.
func (r *reader) follow(from *function, body ast.Node) {
	ast.Inspect(body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || !r.often(from.source, call.Pos()) {
			return true
		}
		callee := r.callee(from, call)
		called := r.functionsOf(callee)
		from.calls = append(from.calls, called...)
		from.leads = from.leads || arrives(callee)
		for _, to := range called {
			for _, argument := range call.Args {
				r.give(from, to, argument)
			}
		}
		return true
	})
}

// give adds to a function what one of its arguments calls, if that is a function: a literal, a function by its name, or one that
// from was given itself.
func (r *reader) give(from, to *function, argument ast.Expr) {
	if literal, ok := argument.(*ast.FuncLit); ok {
		inside := &function{source: from.source}
		r.follow(inside, literal.Body)
		to.given = append(to.given, inside.calls...)
		to.givenLeads = to.givenLeads || inside.leads
		return
	}
	if _, ok := from.source.TypesInfo.TypeOf(argument).Underlying().(*types.Signature); !ok {
		return
	}
	switch object := r.object(from, argument).(type) {
	case *types.Func:
		to.given = append(to.given, r.functionsOf(object)...)
	case *types.Var:
		to.passedBy = append(to.passedBy, from)
	}
}

// arrives says whether a call is where a request has arrived: at the arithmetic of its limit, at another process, or, for an
// interceptor of gRPC, at the service.
func arrives(callee types.Object) bool {
	if v, ok := callee.(*types.Var); ok {
		return v.Type().String() == "google.golang.org/grpc.UnaryHandler"
	}
	fn, ok := callee.(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Signature().Recv() == nil {
		return false
	}
	switch pkg := fn.Pkg().Path(); {
	case pkg == "google.golang.org/grpc":
		return fn.Name() == "Send" && types.IsInterface(fn.Signature().Recv().Type())
	case strings.HasSuffix(pkg, "/rpc/pb"):
		return types.IsInterface(fn.Signature().Recv().Type())
	case strings.HasSuffix(pkg, "/actor/limit"):
		return fn.Name() == "Bound"
	}
	return false
}

// callee is what is called: a function, a method, or a field or variable that holds one. Nil for anything else.
func (r *reader) callee(from *function, call *ast.CallExpr) types.Object {
	return r.object(from, call.Fun)
}

// object is what an expression names; nil for nothing.
func (r *reader) object(from *function, x ast.Expr) types.Object {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return from.source.TypesInfo.Uses[x]
	case *ast.SelectorExpr:
		return from.source.TypesInfo.Uses[x.Sel]
	case *ast.IndexExpr: // a generic function
		return r.object(from, x.X)
	}
	return nil
}

// functionsOf are the functions that run for every request and may be what is called: where it is a method of an interface, those
// of all types that have the interface's methods; where it is a field, those that a literal has put there.
func (r *reader) functionsOf(callee types.Object) []*function {
	var found []*function
	switch callee := callee.(type) {
	case *types.Func:
		for _, f := range r.byName[callee.Name()] {
			if callee.Pkg() != nil && matches(f, callee) {
				found = append(found, f)
			}
		}
	case *types.Var:
		for _, held := range r.held[callee] {
			found = append(found, r.functionsOf(held)...)
		}
	}
	return found
}

// findHeld collects what literals put into fields that hold functions.
func (r *reader) findHeld(p *packages.Package, f *ast.File) {
	ast.Inspect(f, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, ok := pair.Key.(*ast.Ident)
		if !ok {
			return true
		}
		field, ok := p.TypesInfo.Uses[key].(*types.Var)
		if !ok {
			return true
		}
		var id *ast.Ident
		switch value := pair.Value.(type) {
		case *ast.Ident:
			id = value
		case *ast.SelectorExpr:
			id = value.Sel
		default:
			return true
		}
		if held, ok := p.TypesInfo.Uses[id].(*types.Func); ok {
			r.held[field] = append(r.held[field], held)
		}
		return true
	})
}

// matches says whether a call of callee may be one of f. Types are compared by their names: each package was read by itself.
func matches(f *function, callee *types.Func) bool {
	recv := callee.Signature().Recv()
	if recv == nil {
		return f.receiver == "" && f.source.PkgPath == callee.Pkg().Path()
	}
	of := recv.Type()
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	if wanted, ok := of.Underlying().(*types.Interface); ok {
		for m := range wanted.Methods() {
			if !f.methods[m.Name()] {
				return false
			}
		}
		return f.receiver != "" && f.signature == callee.Type().String()
	}
	named, ok := of.(*types.Named)
	return ok && f.receiver == named.Obj().Name() && f.source.PkgPath == callee.Pkg().Path()
}

// order is the spine as the calls go: first what no other file of it calls, and each file before what it calls.
func (p *Path) order() []string {
	called := map[string]bool{}
	for pair := range p.Changes {
		called[pair[1]] = true
	}
	var order []string
	var visit func(file string)
	visit = func(file string) {
		if !slices.Contains(order, file) {
			order = append(order, file)
			for _, to := range p.next(file) {
				visit(to)
			}
		}
	}
	files := slices.Sorted(maps.Keys(p.Spine))
	for _, file := range files {
		if !called[file] {
			visit(file)
		}
	}
	for _, file := range files {
		visit(file) // what is only called in a circle
	}
	return order
}

// next are the files of the spine that a file calls, sorted.
func (p *Path) next(from string) []string {
	var files []string
	for pair := range p.Changes {
		if pair[0] == from {
			files = append(files, pair[1])
		}
	}
	slices.Sort(files)
	return files
}

// String lists the files of the spine in the order of the calls, with what they call in others of it, and the leaves.
func (p *Path) String() string {
	var b strings.Builder
	functions, leaves := 0, []string{}
	for file, names := range p.Functions {
		functions += len(names)
		if p.Spine[file] == nil {
			leaves = append(leaves, file)
		}
	}
	slices.Sort(leaves)
	fmt.Fprintf(&b, "%d files and %d functions run for every request; %d files lead to the decision, with %d changes of file\n",
		len(p.Functions), functions, len(p.Spine), len(p.Changes))
	for _, from := range p.order() {
		fmt.Fprintf(&b, "%s: %s\n", from, strings.Join(p.Spine[from], ", "))
		for _, to := range p.next(from) {
			fmt.Fprintf(&b, "    → %s: %s\n", to, strings.Join(p.Changes[[2]string{from, to}], ", "))
		}
	}
	fmt.Fprintf(&b, "leaves: %s\n", strings.Join(leaves, ", "))
	return b.String()
}
