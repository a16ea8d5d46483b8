package rls

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// What a directory may hold at most.
const (
	maxFiles = 1000
	maxBytes = 16 << 20 // of all files
)

// readFiles reads the files of the door's directory.
func (d *Door) readFiles() ([]descriptors.File, error) {
	reads := isConfiguration
	if d.cfg.AllFiles {
		reads = func(name string) bool { return !strings.HasPrefix(name, ".") }
	}
	return readDirectory(d.cfg.Directory, reads)
}

// readDirectory reads those files of a directory that reads names, in the order of their names. A link counts as what it leads to, as Kubernetes mounts them.
func readDirectory(directory string, reads func(name string) bool) ([]descriptors.File, error) {
	if info, err := os.Stat(directory); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory: name the one with the files of Envoy's rate limit service", directory)
	}
	found, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var files []descriptors.File
	bytes := 0
	for _, entry := range found {
		if !reads(entry.Name()) {
			continue
		}
		path := filepath.Join(directory, entry.Name())
		text, err := readFile(path, maxBytes-bytes)
		if err != nil {
			return nil, err
		}
		bytes += len(text)
		if files = append(files, descriptors.File{Name: path, Text: text}); len(files) > maxFiles {
			return nil, fmt.Errorf("%s: has more than %d files", directory, maxFiles)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: has no file whose name ends in .yaml or .yml: write one for each domain", directory)
	}
	return files, nil
}

// isConfiguration says whether a file is read, by its name.
func isConfiguration(name string) bool {
	ext := filepath.Ext(name)
	return !strings.HasPrefix(name, ".") && (ext == ".yaml" || ext == ".yml")
}

func readFile(path string, most int) ([]byte, error) {
	switch info, err := os.Stat(path); { // before it is opened, since a pipe would make that wait
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: files of rules stand beside one another", path)
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
		err = fmt.Errorf("%s: the files of the directory have more than %d bytes", path, maxBytes)
	}
	return text, err
}
