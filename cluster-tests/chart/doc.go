// Package chart tests the Helm chart of deploy/helm/jeton. It renders the chart with sets of values (testdata/sets) as helm does, compares
// what comes out with testdata/golden, validates it against the schemas of the oldest and the newest Kubernetes (testdata/kubernetes) and by
// the validation of the API server itself, and holds what the pods' command lines say against the binary and against one another. It is
// a module of its own: Helm and Kubernetes are for these tests alone. Run it with make test-chart; go test . -args -update writes the golden
// files, the schemas, and the files of the chart that are copies.
//
// cluster-tests acts the golden files out with processes: TestKubernetes there.
package chart
