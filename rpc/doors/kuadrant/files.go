package kuadrant

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// What there may be to read at most.
const (
	maxFiles = 1000
	maxBytes = 16 << 20 // of all files
)

// readFiles reads a file, or the files of a directory in the order of their names. A link counts as what it leads to, as Kubernetes mounts them.
func readFiles(path string) ([]limitfile.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	paths := []string{path}
	if info.IsDir() {
		if paths, _, err = inDirectory(path); err != nil {
			return nil, err
		}
	}
	var files []limitfile.File
	bytes := 0
	for _, path := range paths {
		text, err := readFile(path, maxBytes-bytes)
		if err != nil {
			return nil, err
		}
		bytes += len(text)
		files = append(files, limitfile.File{Name: path, Text: text})
	}
	return files, nil
}

// inDirectory are the paths of a directory's files that are read, and the names of others.
func inDirectory(directory string) (paths, ignored []string, err error) {
	found, err := os.ReadDir(directory)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range found {
		name := entry.Name()
		switch ext := filepath.Ext(name); {
		case !strings.HasPrefix(name, ".") && (ext == ".yaml" || ext == ".yml"):
			paths = append(paths, filepath.Join(directory, name))
		case !entry.IsDir():
			ignored = append(ignored, name)
		}
	}
	switch {
	case len(paths) == 0:
		return nil, nil, fmt.Errorf("%s: has no file whose name ends in .yaml or .yml: write one", directory)
	case len(paths) > maxFiles:
		return nil, nil, fmt.Errorf("%s: has more than %d files", directory, maxFiles)
	}
	return paths, ignored, nil
}

func readFile(path string, most int) ([]byte, error) {
	switch info, err := os.Stat(path); { // before it is opened, since a pipe would make that wait
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s: the files have more than %d bytes", path, maxBytes)
	}
	return text, err
}
