package chart

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	// madeOnce is what the chart draws at random.
	madeOnce = regexp.MustCompile(`(?m)^(  (?:cluster\.key|tokens): )[A-Za-z0-9+/=]{40,}$`)
	// copied is where the text of another file begins, which TestCopiesAreCurrent compares.
	copied = regexp.MustCompile(`(?s)\n(spec:|data:)\n.*`)
)

// golden is how a rendered chart is kept: its objects, without the text of files that are elsewhere.
func golden(all []object) []byte {
	var text bytes.Buffer
	for _, o := range all {
		one := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(o.text)), "---"))
		if o.GetKind() == "PrometheusRule" || strings.Contains(o.GetName(), "-dashboard-") {
			one = copied.ReplaceAllString(one, "\n$1 {} # a file of the chart")
		}
		text.WriteString("---\n" + madeOnce.ReplaceAllString(one, "${1}bWFkZSBvbmNl") + "\n")
	}
	return text.Bytes()
}

func TestGolden(t *testing.T) {
	c := loadChart(t)
	for _, s := range sets(t) {
		t.Run(s.name, func(t *testing.T) {
			all, err := rendering(c, s)
			if err != nil {
				t.Fatal(err)
			}
			got, path := golden(all), "testdata/golden/"+s.name+".yaml"
			if *update {
				write(t, path, got)
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the chart renders otherwise than %s has it; go test . -args -update writes it anew:\n%s", path, difference(string(want), string(got)))
			}
		})
	}
}

// difference shows the first lines that differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "want " + a[i] + "\ngot  " + b[i]
		}
	}
	return "one of them ends early"
}

// Secrets are made where they are not there, outside of the release: no upgrade and no rollback writes them again.
func TestSecretsAreMadeOnce(t *testing.T) {
	c, values := loadChart(t), map[string]any{"gateway": map[string]any{"enabled": true, "document": map[string]any{"proxy": map[string]any{}}}}
	made := func(there cluster) map[string]string {
		t.Helper()
		all, err := rendering(c, set{values: values, there: there})
		if err != nil {
			t.Fatal(err)
		}
		secrets := map[string]string{}
		for _, o := range all {
			if o.GetKind() != "Secret" {
				continue
			}
			says := o.GetAnnotations()
			if says["helm.sh/hook"] != "pre-install,pre-upgrade" || says["helm.sh/hook-delete-policy"] != "hook-failed" || says["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s is the release's, or goes with it: %v", o, says)
			}
			for field, value := range o.Object["data"].(map[string]any) {
				secrets[o.GetName()+" "+field] = value.(string)
			}
		}
		return secrets
	}
	first, second := made(nil), made(nil)
	for _, name := range []string{"jeton-cluster-key cluster.key", "jeton-admin-tokens tokens", "jeton-gateway-tokens tokens"} {
		if first[name] == second[name] || len(first[name]) < 43 {
			t.Errorf("%s is made twice as %q and %q: want 32 bytes at random", name, first[name], second[name])
		}
	}
	if again := made(ofNodes(3)); len(again) > 0 {
		t.Errorf("an upgrade makes Secrets that are there: %v", again)
	}
	if later := made(ofNodes(3)[:3]); len(later) != 1 || later["jeton-gateway-tokens tokens"] == "" {
		t.Errorf("an upgrade that brings gateways makes %v, want their tokens", later)
	}
	if _, err := rendering(c, set{there: ofNodes(3)[:1]}); err == nil || !strings.Contains(err.Error(), "the Secret jeton-cluster-key is gone") {
		t.Errorf("a lost key is made anew beside nodes that run: %v", err)
	}
}
