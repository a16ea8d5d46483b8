package chart

import (
	"bytes"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// TestMutants has charts that are wrong, each by one edit of a template, or of the values: the checks must notice, without any golden file.
func TestMutants(t *testing.T) {
	for _, m := range []struct{ file, from, to, set string }{
		{"services.yaml", "  publishNotReadyAddresses: true\n", "", "default"},
		{"services.yaml", "port: 7700, targetPort: grpc, appProtocol", "port: 7710, targetPort: grpc, appProtocol", "default"},
		{"services.yaml", "targetPort: raft", "targetPort: rafts", "default"},
		{"nodes.yaml", "name: http, containerPort: 7702", "name: http, containerPort: 7712", "default"},
		{"nodes.yaml", "path: /readyz", "path: /ready", "default"},
		{"nodes.yaml", "path: /readyz", "path: /livez", "default"},
		{"nodes.yaml", "mountPath: /var/lib/jeton}", "mountPath: /var/lib/other}", "default"},
		{"nodes.yaml", "name: tls, mountPath: /etc/jeton/tls", "name: tls, mountPath: /etc/jeton/certs", "secure"},
		{"nodes.yaml", "name: POD_NAME", "name: POD", "default"},
		{"nodes.yaml", "JETON_CLUSTER_KEY_FILE", "JETON_CLUSTERKEY_FILE", "default"},
		{"nodes.yaml", "preStop: {sleep: {seconds: {{ $n.drainSeconds }}}}", "preStop: {exec: {command: [sleep, 5]}}", "default"},
		{"_nodeargs.tpl", "--listen-raft", "--listen-rafts", "default"},
		{"_nodeargs.tpl", "--expect=", "--expected=", "default"},
		{"_nodeargs.tpl", "--durability=", "--durable=", "default"},
		{"_nodeargs.tpl", `(list . "7701")`, `(list . "7708")`, "default"},
		{"_names.tpl", "}}-nodes.{{", "}}-node.{{", "default"},
		{"_names.tpl", "add .of.drainSeconds 25", "add .of.drainSeconds 5", "default"},
		{"_pods.tpl", "enableServiceLinks: false", "enableServiceLinks: true", "default"},
		{"_pods.tpl", "automountServiceAccountToken: false", "automountServiceAccountToken: true", "default"},
		{"values.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "default"},
		{"values.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "default"},
		{"nodes.yaml", `secret: {secretName: {{ include "jeton.keySecret" . | quote }}, defaultMode: 0440}`, `secret: {secretName: {{ include "jeton.keySecret" . | quote }}}`, "default"},
		{"scaledown.yaml", `"cluster" "drain"`, `"cluster" "drian"`, "shrinking"},
		{"scaledown.yaml", `"cluster" "remove"`, `"cluster" "remove" "--forced"`, "shrinking"},
		{"limits.yaml", `"limits" "apply"`, `"limit" "apply"`, "shrinking"},
		{"gateway.yaml", "kind: Deployment, name:", "kind: StatefulSet, name:", "gateway"},
		{"gateway.yaml", "jeton.gatewayTokenSecret", "jeton.tokenSecret", "gateway"},
		{"gateway.yaml", "--config=", "--document=", "gateway"},
		{"_gateway.tpl", "section: admin, field: listen", "section: admin, field: listens", "gateway"},
		{"_gateway.tpl", `"token_file" "/etc`, `"token_files" "/etc`, "gateway"},
		{"networkpolicy.yaml", "      ports:\n        - {port: grpc}\n    {{- with $p.callers }}", "      ports:\n        - {port: raft}\n    {{- with $p.callers }}", "default"},
		{"networkpolicy.yaml", `{{- if ne .name "admin" }}`, `{{- if ne .name "none" }}`, "gateway"},
		{"networkpolicy.yaml", "ternary $p.clients $p.trusted", "ternary $p.clients $p.clients", "secure"},
		{"gateway.yaml", "    - {name: proxy, port:", "    - {name: redis, port: 7706, targetPort: redis}\n    - {name: proxy, port:", "doors"},
		{"ingress.yaml", "name: {{ $name }}-proxy, port: {name: proxy}", "name: {{ $name }}-admin, port: {name: proxy}", "gateway"},
		{"ingress.yaml", "port: {name: proxy}", "port: {name: http}", "gateway"},
		{"ingress.yaml", "pathType: Prefix", "pathType: Prefixes", "gateway"},
		{"account.yaml", "verbs: [get]", "verbs: get", "gateway"},
	} {
		t.Run(m.file+" "+m.from, func(t *testing.T) {
			c := loadChart(t)
			edit(t, c, m.file, m.from, m.to)
			if err := problems(t, c, m.set); err == nil {
				t.Errorf("%s with %q in place of %q is not noticed", m.file, m.to, m.from)
			} else if testing.Verbose() {
				t.Log(err)
			}
		})
	}
}

// edit changes a template in memory, or the values.
func edit(t *testing.T, c *chart.Chart, file, from, to string) {
	t.Helper()
	for _, f := range append(c.Templates, c.Raw...) {
		if f.Name == "templates/"+file || f.Name == file {
			if !bytes.Contains(f.Data, []byte(from)) {
				t.Fatalf("%s does not have %q", file, from)
			}
			f.Data = bytes.ReplaceAll(f.Data, []byte(from), []byte(to))
			if file == chartutil.ValuesfileName {
				values, err := chartutil.ReadValues(f.Data)
				if err != nil {
					t.Fatal(err)
				}
				c.Values = values
			}
			return
		}
	}
	t.Fatalf("there is no %s", file)
}

// problems is what is wrong with a chart that is rendered with a set of values.
func problems(t *testing.T, c *chart.Chart, name string) error {
	t.Helper()
	for _, s := range sets(t) {
		if s.name != name {
			continue
		}
		all, err := rendering(c, s)
		if err != nil {
			return err
		}
		decoder, schemas := server(), compile(t, "1.30")
		for _, o := range all {
			if err := conforms(o, schemas); err != nil {
				return err
			}
			if err := accepts(decoder, o); err != nil {
				return err
			}
		}
		if err := consistent(all, shownRoutes(t)); err != nil {
			return err
		}
		return commands(t.TempDir(), all)
	}
	t.Fatalf("there is no set %s", name)
	return nil
}
