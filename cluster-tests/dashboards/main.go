// Command dashboards writes the dashboards of deploy/grafana, from the lists of panels in this package:
//
//	go run ./cluster-tests/dashboards --into deploy/grafana
//
// A panel says in plain words what it shows, asks by metrics of nodes and gateways, and has a unit, and thresholds where a number can be bad.
// TestDashboards in cluster-tests asks for all of them in a scrape of a cluster.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	into := flag.String("into", "deploy/grafana", "the folder to write to")
	flag.Parse()
	if err := write(*into); err != nil {
		log.Fatal(err)
	}
}

// write writes each dashboard into a file of the folder.
func write(into string) error {
	for _, b := range []board{overview(), limits(), nodes(), gateway()} {
		text, err := json.MarshalIndent(b.document(), "", "  ")
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if err := os.WriteFile(filepath.Join(into, b.name+".json"), append(text, '\n'), 0o644); err != nil { //nolint:gosec // it is for everybody
			return err
		}
	}
	return nil
}
