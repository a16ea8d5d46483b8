package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// A tree is the files of the repository: what git has or would have, so that what was built or installed beside it makes no difference.
type tree struct {
	files   fs.FS
	names   []string // sorted
	folders map[string][]string
}

// readTree lists the files of a repository.
func readTree(root string) (*tree, error) {
	list := exec.CommandContext(context.Background(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: listing its files with git ls-files: %w", root, err)
	}
	files := os.DirFS(root)
	var names []string
	for name := range strings.SplitSeq(string(bytes.TrimSuffix(out, []byte{0})), "\x00") {
		if info, err := fs.Stat(files, name); err == nil && info.Mode().IsRegular() { // git lists what was deleted, too
			names = append(names, name)
		}
	}
	return newTree(files, names), nil
}

// newTree is a tree of some files.
func newTree(files fs.FS, names []string) *tree {
	slices.Sort(names)
	t := &tree{files, slices.Compact(names), map[string][]string{}}
	for _, name := range t.names {
		for at := name; at != "."; at = path.Dir(at) {
			t.folders[path.Dir(at)] = append(t.folders[path.Dir(at)], path.Base(at))
		}
	}
	for folder, entries := range t.folders {
		slices.Sort(entries)
		t.folders[folder] = slices.Compact(entries)
	}
	return t
}

// read reads a file of the tree.
func (t *tree) read(name string) (content []byte, ok bool, err error) {
	if _, ok := slices.BinarySearch(t.names, name); !ok {
		return nil, false, nil
	}
	content, err = fs.ReadFile(t.files, name)
	return content, err == nil, err
}
