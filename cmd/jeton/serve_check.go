package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// checkFiles says whether the files that options of a node name are good, and what they mean.
func checkFiles(w io.Writer, cfg node.Config) error {
	if cfg.Limits == "" && cfg.RLSConfig == "" && cfg.KuadrantConfig == "" {
		return errors.New("--check: there is nothing to check: name files with --limits, --rls-config or --kuadrant-config")
	}
	if cfg.Limits != "" {
		text, err := os.ReadFile(cfg.Limits)
		if err != nil {
			return fmt.Errorf("--limits: %w", err)
		}
		doc, err := limit.ReadDocument(text)
		if err != nil {
			return fmt.Errorf("%s: %w", cfg.Limits, err)
		}
		if _, err := fmt.Fprintf(w, "%s is good: limits: %d\n", cfg.Limits, len(doc.Rules())); err != nil {
			return err
		}
	}
	return checkDoors(w, cfg.RLSConfig, cfg.KuadrantConfig)
}

// checkDoors says so of the files of doors; an empty path is none.
func checkDoors(w io.Writer, rlsConfig, kuadrantConfig string) error {
	if err := checkRLS(w, rlsConfig); err != nil {
		return err
	}
	return checkKuadrant(w, kuadrantConfig)
}

// checkKuadrant says so of files of Limitador.
func checkKuadrant(w io.Writer, path string) error {
	if path == "" {
		return nil
	}
	found, err := kuadrant.Check(path)
	if err != nil {
		return err
	}
	if len(found.Problems) > 0 {
		return errors.New(found.String())
	}
	_, err = io.WriteString(w, found.String())
	return err
}

// checkRLS says so of the files of Envoy's rate limit service in a directory; an empty one is none.
func checkRLS(w io.Writer, directory string) error {
	if directory == "" {
		return nil
	}
	report, err := rls.Check(directory)
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return errors.New(report.String())
	}
	_, err = io.WriteString(w, report.String())
	return err
}
