package descriptors

import (
	"cmp"
	"fmt"
)

// Parse reads files. Without problems, the Domains are complete; with problems they are nil.
func Parse(files []File) (*Domains, []Problem) { return parse(files, false) }

// ParseMerged is Parse of files of which several may describe the same domain, each other descriptors.
func ParseMerged(files []File) (*Domains, []Problem) { return parse(files, true) }

func parse(files []File, merge bool) (*Domains, []Problem) {
	return assemble(len(files), merge, func(i int, r *report) *tree {
		r.file = files[i].Name
		return read(files[i].Text, r)
	})
}

// Take is Parse, or with merge ParseMerged, of what a server sends.
func Take(resources []Resource, merge bool) (*Domains, []Problem) {
	return assemble(len(resources), merge, func(i int, r *report) *tree {
		r.file = cmp.Or(resources[i].Name, fmt.Sprintf("resource %d", i+1))
		return resources[i].tree(r)
	})
}
