// Package references reads how the files of a package refer to one another, and puts them in the order in which as many
// references as possible run downwards: from what runs things to what it uses. Such a package can be read from the top of its
// first file to the end of its last one. References against the order are what a reader stumbles over: a tangle of files that
// can only be understood together.
//
// A reference is a pair of files of one package: one file uses a function, method, type, variable or constant that the other
// declares. The receiver of a method does not count as a use of its type. Start with [Load].
package references

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A Package is what one package's files refer to.
type Package struct {
	// Path is the package's folder, relative to the module.
	Path string
	// Files are the names of its files without tests, in the order that Order has found: what runs things comes first.
	Files []string
	// Uses holds for each reference, by the files' names, what is used, sorted.
	Uses map[[2]string][]string
}

// Load reads the packages of the module in root that the patterns name, such as "./actor/...". Files of tests do not count, nor
// generated ones.
func Load(root string, patterns ...string) ([]Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedImports | packages.NeedExportFile | packages.NeedModule,
		Dir: root,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("loading %v: %w", patterns, err)
	}
	var read []Package
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("loading %s: %w", p.PkgPath, p.Errors[0])
		}
		read = append(read, readPackage(p))
	}
	slices.SortFunc(read, func(a, b Package) int { return cmp.Compare(a.Path, b.Path) })
	return read, nil
}

// readPackage collects the references of one package and orders its files.
func readPackage(p *packages.Package) Package {
	r := Package{Path: strings.TrimPrefix(p.PkgPath, p.Module.Path+"/"), Uses: map[[2]string][]string{}}
	nameOf := func(n ast.Node) string { return filepath.Base(p.Fset.Position(n.Pos()).Filename) }
	generated := map[string]bool{}
	for _, f := range p.Syntax {
		if ast.IsGenerated(f) {
			generated[nameOf(f)] = true
			continue
		}
		r.Files = append(r.Files, nameOf(f))
	}
	for _, f := range p.Syntax {
		from := nameOf(f)
		if generated[from] {
			continue
		}
		receivers := receiversOf(f)
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || receivers[id] {
				return true
			}
			used := p.TypesInfo.Uses[id]
			if !declares(p.Types, used) {
				return true
			}
			to := filepath.Base(p.Fset.Position(used.Pos()).Filename)
			if pair := [2]string{from, to}; to != from && !generated[to] && !slices.Contains(r.Uses[pair], id.Name) {
				r.Uses[pair] = append(r.Uses[pair], id.Name)
			}
			return true
		})
	}
	for _, names := range r.Uses {
		slices.Sort(names)
	}
	slices.Sort(r.Files)
	r.Files = order(r.Files, r.refers)
	return r
}

// receiversOf are the identifiers in the receivers of a file's methods.
func receiversOf(f *ast.File) map[*ast.Ident]bool {
	found := map[*ast.Ident]bool{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
			ast.Inspect(fn.Recv, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					found[id] = true
				}
				return true
			})
		}
	}
	return found
}

// declares says whether o is a function, method, type, variable or constant that this package declares at its top level.
func declares(p *types.Package, o types.Object) bool {
	if o == nil || o.Pkg() != p {
		return false
	}
	switch o := o.(type) {
	case *types.Func:
		return o.Signature().Recv() == nil || !types.IsInterface(o.Signature().Recv().Type())
	case *types.TypeName, *types.Const, *types.Var:
		return o.Parent() == p.Scope()
	}
	return false
}

func (p Package) refers(from, to string) bool { return len(p.Uses[[2]string{from, to}]) > 0 }

// Upward are the references that run against the order of the files, sorted.
func (p Package) Upward() [][2]string {
	at := map[string]int{}
	for i, f := range p.Files {
		at[f] = i
	}
	var upward [][2]string
	for pair := range p.Uses {
		if at[pair[0]] > at[pair[1]] {
			upward = append(upward, pair)
		}
	}
	slices.SortFunc(upward, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(at[a[0]], at[b[0]]), cmp.Compare(at[a[1]], at[b[1]]))
	})
	return upward
}

// String lists the files in their order, and what refers upwards.
func (p Package) String() string {
	var b strings.Builder
	upward := p.Upward()
	fmt.Fprintf(&b, "%s: %d files, %d references, %d of them upwards\n", p.Path, len(p.Files), len(p.Uses), len(upward))
	fmt.Fprintf(&b, "  %s\n", strings.Join(p.Files, " › "))
	for _, pair := range upward {
		fmt.Fprintf(&b, "  %s ↑ %s: %s\n", pair[0], pair[1], strings.Join(p.Uses[pair], ", "))
	}
	return b.String()
}
