package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolderAt(t *testing.T) {
	for _, tt := range []struct {
		what  string
		files map[string]string
		wrong string
		check func(f *Folder) bool
	}{
		{what: "empty", check: func(f *Folder) bool { return f.Format == 0 }},
		{what: "of a node", files: map[string]string{"FORMAT": "jeton 3\n", "cluster/founding.json": `{"id":"00fdf321f0e83d7b0273f10fdb9a6c34","member":"43bbd9ba857189d8142436c08c07bc05"}`}, check: func(f *Folder) bool {
			return f.Format == 3 && f.Node == "00fdf321f0e83d7b0273f10fdb9a6c34" && f.Cluster == "43bbd9ba857189d8142436c08c07bc05" && f.Holder == 0
		}},
		{what: "to be emptied", files: map[string]string{"FORMAT": "jeton 3\n", "RENEW": ""}, check: func(f *Folder) bool { return f.Renewing }},
		{what: "left by a probe", files: map[string]string{"PROBE": "x"}, check: func(f *Folder) bool { return f.Format == 0 }},
		{what: "another program's", files: map[string]string{"a.doc": "x"}, wrong: "holds a.doc and is no data directory"},
		{what: "of a newer format", files: map[string]string{"FORMAT": "jeton 999\n"}, wrong: "newer format"},
	} {
		dir := t.TempDir()
		for name, text := range tt.files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := folderAt(dir)
		if (f.Wrong == "") != (tt.wrong == "") || !strings.Contains(f.Wrong, tt.wrong) || tt.check != nil && !tt.check(&f) || f.Made != dir {
			t.Errorf("%s: %+v", tt.what, f)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := folderAt(file); !strings.Contains(f.Wrong, "is no folder") {
		t.Errorf("a file: %+v", f)
	}
}
