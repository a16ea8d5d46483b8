package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// indexFile is a file that every site has. What lies in a folder without it was not made here, and is not removed.
const indexFile = "search-index.js"

// write replaces the site in a folder.
func write(folder string, files map[string][]byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, indexFile)); len(entries) > 0 && err != nil {
		return fmt.Errorf("%s: the folder has files, and is no site: name another one, or remove it", folder)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, content := range files {
		at := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // a site is for everybody to read
			return err
		}
		if err := os.WriteFile(at, content, 0o644); err != nil { //nolint:gosec // likewise
			return err
		}
	}
	return nil
}
