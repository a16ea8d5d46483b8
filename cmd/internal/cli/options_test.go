package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// options are some options, and the environment and file that set them.
func options(t *testing.T, file string, env map[string]string, args ...string) (*pflag.FlagSet, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String(ConfigOption, "", "")
	flags.String("data", "default", "")
	flags.Int("expect", 1, "")
	flags.StringSlice("join", nil, "")
	flags.Var(NewChoice("fsync", "memory"), "durability", "")
	if file != "" {
		path := filepath.Join(t.TempDir(), "jeton.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags, fillOptions(flags, func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
}

func TestOptionsComeFromThreePlaces(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		env        map[string]string
		args       []string
		want       string
	}{
		{name: "default", want: "default"},
		{name: "file", file: "data: file\nexpect: 3\n", want: "file"},
		{name: "environment over file", file: "data: file", env: map[string]string{"JETON_DATA": "env"}, want: "env"},
		{name: "command line over all", file: "data: file", env: map[string]string{"JETON_DATA": "env"}, args: []string{"--data=line"}, want: "line"},
		{name: "an empty file", file: "# nothing\n", want: "default"},
		{name: "others' variables", env: map[string]string{"JETON_OTHER": "x", "DATA": "x"}, want: "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags, err := options(t, tt.file, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := flags.GetString("data"); got != tt.want {
				t.Errorf("data is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestListsInTheFile(t *testing.T) {
	for _, file := range []string{"join: a:1,b:2", "join: [a:1, b:2]", "join:\n- a:1\n- b:2\n"} {
		flags, err := options(t, file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := flags.GetStringSlice("join"); !slices.Equal(got, []string{"a:1", "b:2"}) {
			t.Errorf("%q: join is %q", file, got)
		}
	}
}

func TestBadOptionsSayWhere(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		env        map[string]string
		want       []string
	}{
		{"unknown field", "data: x\ndurabilty: y\njion: z\n", nil, []string{"jeton.yaml:2: durabilty: is not an option: did you mean durability?\n", "jeton.yaml:3: jion: is not an option"}},
		{"no value", "join: x\ndata:\n", nil, []string{"jeton.yaml:2: data: is empty: give it a value, or leave it out"}},
		{"many problems", strings.Repeat("durabilty: y\n", 50), nil, []string{"jeton.yaml:2", "jeton.yaml:20", "jeton.yaml: 30 more problems"}},
		{"two documents", "data: x\n---\ndata: y\n", nil, []string{"jeton.yaml:2", "more than one YAML document"}},
		{"bad number", "expect: many\n", nil, []string{"jeton.yaml:1", `expect: "many" is not a whole number`}},
		{"bad Choice", "durability: disk\n", nil, []string{"jeton.yaml:1", "durability", "fsync or memory"}},
		{"twice", "data: x\ndata: y\n", nil, []string{"data", "already"}},
		{"a list of lists", "join: [a, [b]]\n", nil, []string{"jeton.yaml:1", "join", "single value"}},
		{"a list", "data: [x]\n", nil, []string{"jeton.yaml:1", "data", "single value"}},
		{"no mapping", "- data\n", nil, []string{"jeton.yaml:1", "mapping"}},
		{"no YAML", "data: [\n", nil, []string{"jeton.yaml:1: document: is not YAML"}},
		{"config in config", "config: x\n", nil, []string{"config", "not an option"}},
		{"variable", "", map[string]string{"JETON_DURABILITY": "disk"}, []string{"JETON_DURABILITY", "fsync or memory"}},
		{"missing file", "", map[string]string{"JETON_CONFIG": "/does/not/exist"}, []string{"--config", "/does/not/exist"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := options(t, tt.file, tt.env)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one with %q", err, want)
				}
			}
		})
	}
}
