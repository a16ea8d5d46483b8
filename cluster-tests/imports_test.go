package clustertests

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/jeton-dev/jeton"

// mayImport says for every package which others of this module its shipped code may import. Tests may import anything.
// Not written out: the packages under cmd may import every package named here, those of cluster-tests everything, and
// no other package may import cluster-tests. Only cluster-tests imports the root package, which is for other programs, and only
// cmd/bench imports cmd/bench, a module of its own.
var mayImport = map[string][]string{
	"internal/alias":               {},
	"internal/bearer":              {},
	"internal/bound":               {},
	"internal/build":               {},
	"internal/door":                {},
	"internal/exemplar":            {},
	"internal/fault":               {},
	"internal/memo":                {},
	"internal/metrics":             {},
	"internal/metrics/metricstest": {},
	"internal/plain":               {},
	"internal/replace":             {},
	"internal/speaks":              {},
	"internal/spelling":            {},
	"internal/strictyaml":          {"internal/spelling"},
	"internal/traced":              {"actor/limit"},
	"internal/tracing":             {},
	"actor/limit":                  {"actor/limit/calendar", "internal/memo", "internal/plain", "internal/spelling", "internal/strictyaml"},
	"actor/limit/calendar":         {"internal/spelling"},
	"actor/limit/limittest":        {"actor/limit"},
	"actor/lease":                  {"actor/limit"},
	"actor/owner":                  {"actor/limit", "storage/register"},
	"actor/clock":                  {},
	"actor/together":               {"actor/limit"},
	"actor/edge":                   {"actor/clock", "actor/lease", "actor/limit", "actor/together", "internal/metrics"},
	"ring":                         {"internal/plain"},
	"ring/key":                     {"ring/secret"},
	"ring/secret":                  {},
	"ring/level":                   {},
	"ring/level/leveltest":         {"ring/level"},
	"ring/move":                    {"ring"},
	"ring/agreed":                  {"ring", "ring/level"},
	"ring/agreed/agreedtest":       {"ring", "ring/agreed"},
	"ring/cluster/folder":          {},
	"ring/cluster/lograte":         {},
	"ring/cluster/message":         {"ring", "ring/agreed", "ring/level"},
	"ring/cluster/gossip":          {"internal/bound", "ring", "ring/agreed", "ring/cluster/folder", "ring/cluster/lograte", "ring/cluster/message", "ring/key", "ring/level"},
	"ring/cluster/consensus":       {"internal/bound", "ring", "ring/agreed", "ring/cluster/folder", "ring/cluster/lograte", "ring/key"},
	"ring/cluster/clocks":          {"actor/clock", "ring"},
	"ring/cluster/health":          {"ring", "ring/agreed", "ring/cluster/message", "ring/level"},
	"ring/cluster/joining": {
		"ring", "ring/agreed", "ring/cluster/consensus", "ring/cluster/folder", "ring/cluster/gossip", "ring/cluster/lograte", "ring/cluster/message",
		"ring/level",
	},
	"ring/cluster/status":   {"ring", "ring/agreed", "ring/cluster/health", "ring/cluster/message", "ring/level"},
	"ring/cluster/recovery": {"ring", "ring/agreed", "ring/cluster/consensus", "ring/cluster/gossip", "ring/cluster/message"},
	"ring/cluster": {
		"internal/bound", "internal/plain", "ring", "ring/agreed", "ring/cluster/clocks", "ring/cluster/consensus", "ring/cluster/driver", "ring/cluster/folder",
		"ring/cluster/gossip", "ring/cluster/health", "ring/cluster/joining", "ring/cluster/lograte", "ring/cluster/message", "ring/cluster/recovery", "ring/cluster/status", "ring/key", "ring/level",
	},
	"ring/cluster/driver": {"ring", "ring/agreed", "ring/move"},
	"storage/difference":  {},
	"storage/register":    {"ring", "storage/difference"},
	"storage/files":       {"internal/bound"},
	"storage/datadir":     {"ring/level", "storage/files"},
	"storage/database":    {"storage/datadir", "storage/files"},
	"storage/journal":     {"storage/files", "storage/register"},
	"storage/memtable":    {"storage/register"},
	"storage/disktest":    {},
	"storage":             {"internal/metrics", "ring", "storage/database", "storage/datadir", "storage/files", "storage/journal", "storage/memtable", "storage/register"},
	"actor":               {"actor/clock", "actor/limit", "actor/owner", "actor/together", "internal/bound", "internal/exemplar", "internal/metrics", "ring", "storage", "storage/register"},
	"rpc/details":         {"actor/limit"},
	"rpc/pb":              {"actor/limit", "ring", "rpc/details", "storage/register"},
	"rpc/nodes":           {"internal/traced", "actor/limit", "actor/together", "internal/metrics", "ring", "rpc/pb"},
	"rpc/client":          {"actor/edge", "actor/limit", "internal/metrics", "internal/speaks", "ring/level", "rpc/backup", "rpc/nodes", "rpc/pb"},
	"rpc/access":          {},
	"rpc/transport":       {"actor/limit", "internal/bound", "internal/fault"},
	"rpc/credentials":     {"internal/bearer", "internal/bound", "internal/metrics", "ring/key", "ring/secret", "rpc/access", "rpc/transport"},
	"rpc/web":             {"internal/traced", "actor/limit", "internal/bearer", "internal/bound", "internal/fault", "internal/metrics", "internal/spelling", "rpc/access", "rpc/pb"},
	"rpc/doors/gubernator": {
		"actor/limit", "internal/metrics", "rpc/pb/gubernatorpb",
	},
	"rpc/pb/gubernatorpb": {},
	"rpc/pb/kuadrantpb":   {},
	"rpc/peers": {
		"internal/traced",
		"actor", "actor/limit", "internal/bound", "internal/fault", "internal/metrics", "ring", "ring/cluster", "ring/key", "storage", "storage/difference", "storage/register",
		"rpc/credentials", "rpc/pb", "rpc/transport",
	},
	"rpc/backup": {},
	"rpc": {
		"actor/limit", "actor/together", "internal/bound", "internal/exemplar", "internal/fault", "internal/metrics", "internal/traced", "ring", "ring/agreed", "ring/cluster",
		"ring/key", "rpc/access", "rpc/activity", "rpc/backup", "rpc/credentials", "rpc/details", "rpc/nodes", "rpc/pb", "rpc/peers", "rpc/transport",
	},
	"rpc/doors/extauthz":           {"internal/alias", "internal/fault", "internal/metrics"},
	"rpc/doors/redis":              {"actor/limit", "internal/bound", "internal/build", "internal/fault", "internal/metrics"},
	"rpc/activity":                 {"internal/build", "internal/fault", "internal/plain", "ring", "ring/cluster/health", "ring/cluster/status"},
	"rpc/console":                  {"actor/limit", "internal/fault", "internal/metrics", "rpc/activity", "rpc/web"},
	"rpc/debug":                    {"actor", "actor/limit", "internal/plain", "ring", "ring/agreed", "ring/cluster", "ring/cluster/health", "ring/cluster/message", "ring/level", "rpc/access", "rpc/web", "storage"},
	"gateway/accesslog":            {},
	"gateway/keys":                 {"actor/limit", "internal/replace"},
	"gateway/config":               {"actor/limit", "gateway/keys", "gateway/llm", "internal/bearer", "internal/spelling", "internal/strictyaml", "ring/secret"},
	"gateway/route":                {"gateway/config"},
	"gateway/identity":             {"actor/limit", "gateway/config", "gateway/keys", "gateway/route", "internal/alias", "internal/bearer"},
	"gateway/answer":               {"actor/limit", "gateway/config", "gateway/llm/dialect", "rpc/details"},
	"gateway/fallback":             {"actor/limit"},
	"gateway/denial":               {"actor/limit"},
	"gateway/llm":                  {"gateway/llm/dialect", "gateway/llm/sse"},
	"gateway/llm/sse":              {},
	"gateway/llm/dialect":          {},
	"gateway/llm/fakemodel":        {},
	"gateway/metering":             {"actor/limit", "gateway/denial", "gateway/llm"},
	"rpc/doors/rlqs":               {"actor/limit", "internal/bound", "internal/metrics"},
	"rpc/doors/rls":                {"actor/limit", "internal/bound", "internal/metrics", "internal/plain", "rpc/doors/rls/descriptors"},
	"rpc/doors/rls/descriptors":    {"actor/limit", "internal/strictyaml"},
	"rpc/doors/kuadrant":           {"actor/limit", "internal/bound", "internal/metrics", "internal/plain", "rpc/doors/kuadrant/limitfile", "rpc/pb/kuadrantpb"},
	"rpc/doors/kuadrant/limitfile": {"actor/limit", "internal/strictyaml"},
	"rpc/doors/rls/xds":            {"internal/metrics", "rpc/doors/rls/descriptors"},
	"gateway": {
		"actor/limit", "gateway/accesslog", "gateway/answer", "gateway/config", "gateway/denial", "gateway/fallback", "gateway/identity", "gateway/llm",
		"gateway/llm/dialect", "gateway/metering", "gateway/route", "internal/alias", "internal/bearer", "internal/exemplar", "internal/speaks", "internal/traced",
	},
	".":                      {"actor/limit", "cmd/node", "gateway", "gateway/config", "rpc/client", "storage"},
	"cmd/gateway":            {},
	"cmd/node":               {},
	"cmd/simulate":           {},
	"cmd/site":               {},
	"cmd/internal/cli":       {},
	"cmd/bench":              {},
	"cmd/bench/jeton-bench":  {},
	"cmd/bench/modelsdk":     {},
	"cmd/jeton":              {},
	"cmd/jeton/top":          {},
	"cmd/ratelimit":          {},
	"cmd/ratelimit/standin":  {},
	"rpc/doors/doorstest":    {"actor", "actor/clock", "actor/limit", "ring", "storage"},
	"rpc/doors":              {"actor/limit", "internal/fault", "internal/metrics", "rpc/access", "rpc/credentials", "rpc/doors/extauthz", "rpc/doors/gubernator", "rpc/doors/kuadrant", "rpc/doors/rlqs", "rpc/doors/rls", "rpc/transport"},
	"cmd/jeton/doctor":       {},
	"cmd/jeton/doctor/facts": {},
	"cmd/internal/manual":    {},
}

// pure are the packages that only compute: the same code runs in production, in the simulation and in the model check.
var pure = []string{"actor/lease", "actor/limit", "actor/owner", "ring", "ring/agreed", "ring/move", "rpc/doors/kuadrant/limitfile", "rpc/doors/rls/descriptors", "storage/difference", "storage/register"}

// independent are the packages that know nothing of jeton, so that what they say of it does not rest on it.
var independent = []string{"cluster-tests/history"}

// effects are the parts of the standard library that pure packages do without, with all that stands under them.
var effects = []string{"log", "net", "os", "runtime", "sync", "syscall"}

// harmless are parts of effects that only compute.
var harmless = []string{"net/url"}

// protobuf is where the modules of protobuf live. Only the packages of rpc speak it.
var protobuf = []string{"google.golang.org/protobuf", "github.com/golang/protobuf", "github.com/gogo/protobuf"}

// topLevel are the folders that may hold Go.
var topLevel = []string{".", "cmd", "actor", "ring", "storage", "rpc", "gateway", "internal", "cluster-tests"}

// empty are names that say nothing, for a package as for a file.
var empty = []string{"util", "utils", "common", "helper", "helpers", "types", "base", "misc", "manager"}

// A source is what the rules need to know of one folder with Go files.
type source struct {
	folder  string   // relative to the module, with slashes; "." is the module itself
	name    string   // of the package; empty when it has nothing but tests
	doc     string   // of the package
	files   []string // names within the folder
	imports []string // of the files that are no tests, whatever their build tags
}

// under says whether a path is that folder or lies in it.
func under(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

func underAny(p string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return under(p, folder) })
}

// allowed says whether the shipped code of one package of this module may import another.
func allowed(from, to string) bool {
	_, known := mayImport[to]
	switch {
	case under(from, "cluster-tests"):
		return true
	case to == ".", under(to, "cmd/bench") && !under(from, "cmd/bench"):
		return false
	case under(from, "cmd"):
		return known
	}
	return slices.Contains(mayImport[from], to)
}

// folderOf is the folder of an imported package of this module.
func folderOf(imported string) (folder string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// violations are the rules that s breaks, a sentence each.
func (s source) violations() []string {
	var broken []string
	say := func(format string, args ...any) { broken = append(broken, s.folder+": "+fmt.Sprintf(format, args...)) }

	if !underAny(s.folder, topLevel) {
		say("Go stands only under %s", strings.Join(topLevel, ", "))
		return broken
	}
	if _, known := mayImport[s.folder]; !known && !under(s.folder, "cluster-tests") {
		say("is missing in the table of imports")
	}
	switch {
	case s.name != "main" && !strings.HasPrefix(s.doc, "Package "+s.name+" "):
		say("has no package doc that starts with %q", "Package "+s.name)
	case s.name == "main" && !strings.HasPrefix(s.doc, "Command "):
		say("has no package doc that starts with %q", "Command "+path.Base(s.folder))
	}
	for _, name := range append([]string{s.name, path.Base(s.folder)}, s.files...) {
		stem := strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test")
		if slices.Contains(empty, stem) {
			say("%s is a name that says nothing", name)
		}
	}
	for _, imported := range s.imports {
		inside, ours := folderOf(imported)
		switch {
		case ours && slices.Contains(independent, s.folder):
			say("must not import %s: it judges by histories alone", inside)
		case ours && !allowed(s.folder, inside):
			say("must not import %s", inside)
		case underAny(imported, protobuf) && !under(s.folder, "rpc") && !under(s.folder, "cluster-tests"):
			say("must not import %s: protobuf stops at rpc", imported)
		case slices.Contains(pure, s.folder) && underAny(imported, effects) && !slices.Contains(harmless, imported):
			say("must not import %s: it is pure", imported)
		}
	}
	return broken
}

// readSources reads every Go file below root. Build tags are not asked: a file that is left out today counts too.
func readSources(root string) ([]source, error) {
	found := map[string]*source{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(file) != ".go":
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if found[folder] == nil {
			found[folder] = &source{folder: folder}
		}
		return found[folder].read(file)
	})
	sources := make([]source, 0, len(found))
	for _, s := range found {
		sources = append(sources, *s)
	}
	slices.SortFunc(sources, func(a, b source) int { return strings.Compare(a.folder, b.folder) })
	return sources, err
}

// read adds one file to what is known of its folder.
func (s *source) read(file string) error {
	s.files = append(s.files, filepath.Base(file))
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	if strings.HasSuffix(file, "_test.go") {
		return nil
	}
	s.name = parsed.Name.Name
	if parsed.Doc != nil {
		s.doc += parsed.Doc.Text()
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if !slices.Contains(s.imports, imported) {
			s.imports = append(s.imports, imported)
		}
	}
	return nil
}

// TestRepository holds the repository against its rules.
func TestRepository(t *testing.T) {
	sources, err := readSources("..")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(sources, func(s source) bool { return s.folder == "actor/limit" }) {
		t.Fatal("the vocabulary, actor/limit, was not found: looked in the wrong place")
	}
	for _, s := range sources {
		for _, broken := range s.violations() {
			t.Error(broken)
		}
	}
}

// engines are what a node stores and agrees with. A gateway does neither.
var engines = []string{
	"github.com/cockroachdb/pebble", "github.com/hashicorp/raft", "github.com/hashicorp/memberlist", "go.etcd.io/bbolt",
}

// TestWhatAGatewayLinks follows the imports of a gateway's packages, and of those that a program imports to ask a cluster:
// none of them stands on a storage engine, on raft or on gossip.
func TestWhatAGatewayLinks(t *testing.T) {
	sources, err := readSources("..")
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for _, s := range sources {
		imports[s.folder] = s.imports
	}
	if !slices.ContainsFunc(imports["storage"], func(to string) bool { return underAny(to, engines) }) {
		t.Fatal("not even the storage has an engine: looked for the wrong ones")
	}
	seen := map[string]bool{}
	var follow func(folder string, path []string)
	follow = func(folder string, path []string) {
		if seen[folder] {
			return
		}
		seen[folder] = true
		path = append(slices.Clone(path), folder)
		for _, imported := range imports[folder] {
			if inside, ours := folderOf(imported); ours {
				follow(inside, path)
			} else if underAny(imported, engines) {
				t.Errorf("%s imports %s", strings.Join(path, " → "), imported)
			}
		}
	}
	follow("cmd/gateway", nil)
	follow("gateway", nil)
	follow("rpc/client", nil)
}

// measuring are modules for cmd/bench alone: what measures, and the SDKs that it tests with.
var measuring = []string{"github.com/HdrHistogram/", "github.com/google/pprof", "github.com/openai/openai-go", "github.com/anthropics/anthropic-sdk-go"}

// TestWhatTheModuleRequires reads go.mod: a program that imports jeton does not get the modules that only measure.
func TestWhatTheModuleRequires(t *testing.T) {
	ours, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	bench, err := os.ReadFile("../cmd/bench/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range measuring {
		if strings.Contains(string(ours), name) {
			t.Errorf("go.mod requires %s: cmd/bench/go.mod is the place for it", name)
		}
		if !strings.Contains(string(bench), name) {
			t.Errorf("cmd/bench/go.mod does not require %s: looked for the wrong name", name)
		}
	}
}

// TestImportTable checks the table itself: every entry names a package of the table, and imports go one way.
func TestImportTable(t *testing.T) {
	var visit func(from string, path []string)
	visit = func(from string, path []string) {
		if slices.Contains(path, from) {
			t.Fatalf("the table runs in a circle: %s", strings.Join(append(path, from), " → "))
		}
		for _, to := range mayImport[from] {
			if _, known := mayImport[to]; !known {
				t.Errorf("%s may import %s, which the table does not know", from, to)
			}
			visit(to, append(slices.Clone(path), from))
		}
	}
	for from := range mayImport {
		visit(from, nil)
	}
	for _, name := range pure {
		if _, known := mayImport[name]; !known {
			t.Errorf("%s is called pure, and the table does not know it", name)
		}
	}
}

// TestViolations breaks each rule once, and expects exactly that to be noticed.
func TestViolations(t *testing.T) {
	good := func() source {
		return source{
			folder:  "storage",
			name:    "storage",
			doc:     "Package storage keeps registers.\n",
			files:   []string{"storage.go", "commit_test.go"},
			imports: []string{"os", "sync", module + "/ring", module + "/storage/register", "github.com/cockroachdb/pebble/v2"},
		}
	}
	tests := []struct {
		what    string
		breaks  func(*source)
		noticed string // empty: nothing is
	}{
		{"nothing", func(*source) {}, ""},
		{"a door speaks protobuf", func(s *source) {
			s.folder, s.name, s.doc, s.imports = "rpc/pb", "pb", "Package pb is the wire.", []string{"google.golang.org/protobuf/proto"}
		}, ""},
		{"a command imports a node", func(s *source) {
			s.folder, s.name, s.doc, s.imports = "cmd/jeton", "main", "Command jeton limits.", []string{module + "/cmd/node"}
		}, ""},
		{"a test package imports what it wants", func(s *source) {
			s.folder, s.imports = "cluster-tests/storage", []string{module + "/cmd/node", module + "/cluster-tests/faults"}
		}, ""},
		{"a command imports what measures", func(s *source) {
			s.folder, s.name, s.doc, s.imports = "cmd/jeton", "main", "Command jeton limits.", []string{module + "/cmd/bench"}
		}, "cmd/jeton: must not import cmd/bench"},
		{"what measures starts a node", func(s *source) {
			s.folder, s.name, s.doc, s.imports = "cmd/bench", "bench", "Package bench measures.", []string{module + "/cmd/node"}
		}, ""},
		{"not in its line", func(s *source) { s.imports = append(s.imports, module+"/actor/limit") }, "storage: must not import actor/limit"},
		{"upwards", func(s *source) {
			s.folder, s.name, s.doc, s.imports = "storage/register", "register", "Package register is pure.", []string{module + "/storage"}
		}, "storage/register: must not import storage"},
		{"shipped code imports tests", func(s *source) {
			s.folder, s.imports = "cmd/node", []string{module + "/cluster-tests/faults"}
		}, "cmd/node: must not import cluster-tests/faults"},
		{"not in the table", func(s *source) {
			s.folder, s.imports = "storage/index", nil
		}, "storage/index: is missing in the table of imports"},
		{"a new top-level folder", func(s *source) { s.folder = "pkg/storage" }, "pkg/storage: Go stands only under ., cmd, actor,"},
		{"the top level itself", func(s *source) {
			s.folder, s.name, s.doc, s.imports = ".", "jeton", "Package jeton limits.", []string{module + "/rpc/client"}
		}, ""},
		{"the top level imports a command", func(s *source) {
			s.folder, s.name, s.doc, s.imports = ".", "jeton", "Package jeton limits.", []string{module + "/cmd/gateway"}
		}, ".: must not import cmd/gateway"},
		{"a command imports the top level", func(s *source) {
			s.folder, s.name, s.doc, s.imports = "cmd/jeton", "main", "Command jeton limits.", []string{module}
		}, "cmd/jeton: must not import ."},
		{"a folder whose name only starts alike", func(s *source) { s.folder = "storages" }, "storages: Go stands only under"},
		{"an empty folder name", func(s *source) { s.folder = "cluster-tests/common" }, "cluster-tests/common: common is a name"},
		{"an empty package name", func(s *source) { s.name, s.doc = "util", "Package util helps." }, "storage: util is a name"},
		{"an empty file name", func(s *source) { s.files = []string{"types.go"} }, "storage: types.go is a name"},
		{"an empty name of a test", func(s *source) { s.files = []string{"helpers_test.go"} }, "storage: helpers_test.go is a name"},
		{"no doc", func(s *source) { s.doc = "" }, `storage: has no package doc that starts with "Package storage"`},
		{"a doc of something else", func(s *source) { s.doc = "Package storages keeps." }, `storage: has no package doc`},
		{"a command without doc", func(s *source) {
			s.folder, s.name, s.doc = "cmd/jeton", "main", ""
			s.imports = nil
		}, `cmd/jeton: has no package doc that starts with "Command jeton"`},
		{"protobuf further in", func(s *source) {
			s.imports = append(s.imports, "google.golang.org/protobuf/proto")
		}, "storage: must not import google.golang.org/protobuf/proto: protobuf stops at rpc"},
		{"a judge that knows whom it judges", func(s *source) {
			s.folder, s.name, s.doc = "cluster-tests/history", "history", "Package history judges."
			s.imports = []string{module + "/actor/limit"}
		}, "cluster-tests/history: must not import actor/limit: it judges by histories alone"},
		{"a pure package with locks", func(s *source) {
			s.folder, s.name, s.doc, s.imports = "ring", "ring", "Package ring places.", []string{"sync/atomic"}
		}, "ring: must not import sync/atomic: it is pure"},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			s := good()
			test.breaks(&s)
			broken := s.violations()
			switch {
			case test.noticed == "" && len(broken) > 0:
				t.Errorf("noticed %q", broken)
			case test.noticed != "" && (len(broken) != 1 || !strings.HasPrefix(broken[0], test.noticed)):
				t.Errorf("noticed %q, want only %q", broken, test.noticed)
			}
		})
	}
}

// TestReadSources checks that imports count whatever a file's build tags, that those of tests do not, and that folders
// which begin with a dot are no hiding place.
func TestReadSources(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"ring/ring.go":             "// Package ring places.\npackage ring\n\nimport \"slices\"\n",
		"ring/blind.go":            "//go:build mutant_blind\n\npackage ring\n\nimport _ \"os\"\n",
		"ring/ring_test.go":        "package ring_test\n\nimport \"testing\"\n",
		"ring/testdata/example.go": "package example\n",
		".hidden/tool.go":          "package main\n",
		".git/hook.go":             "package main\n",
		"js/node_modules/x/x.go":   "package x\n",
		"ring/README.md":           "no Go",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := readSources(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []source{
		{folder: ".hidden", name: "main", files: []string{"tool.go"}},
		{
			folder: "ring", name: "ring", doc: "Package ring places.\n",
			files: []string{"blind.go", "ring.go", "ring_test.go"}, imports: []string{"os", "slices"},
		},
	}
	if got, want := fmt.Sprintf("%+v", sources), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
}
