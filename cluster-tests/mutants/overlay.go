package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrChanged means that an edit does not apply: the code has changed under the mutant.
var ErrChanged = errors.New("the code has changed under the mutant: say anew, in cluster-tests/mutants, what would be wrong there")

// Overlay writes the files that the mutant changes into dir, with the list by which go finds them there, and returns the
// path of that list: the value of go's -overlay. The files of the module stay as they are. The error is ErrChanged if an
// edit does not apply.
func (l *Lab) Overlay(m Mutant, dir string) (path string, err error) {
	texts := map[string]string{} // by file, changed
	for _, e := range m.Edits {
		text, there := texts[e.File]
		if !there {
			read, err := os.ReadFile(l.path(e.File))
			if err != nil {
				return "", fmt.Errorf("%w: %w", ErrChanged, err)
			}
			text = string(read)
		}
		if texts[e.File], err = e.apply(text); err != nil {
			return "", err
		}
	}
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for file, text := range texts {
		changed := filepath.Join(dir, strconv.Itoa(len(list.Replace))+".go")
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		list.Replace[l.path(file)] = changed
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

func (l *Lab) path(file string) string { return filepath.Join(l.Root, filepath.FromSlash(file)) }

// apply is the text after the edit.
func (e Edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.Old); n != 1 || e.Old == e.New {
		return "", fmt.Errorf("%w: in %s this stands %d times, and must stand there once:\n%s", ErrChanged, e.File, n, e.Old)
	}
	return strings.Replace(text, e.Old, e.New, 1), nil
}
