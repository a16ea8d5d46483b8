package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/internal/strictyaml"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// checkServe says whether a node takes its options, then whether the files with limits that they name are good, and what these mean.
func checkServe(w io.Writer, cfg node.Config, memory int64, config string) error {
	if _, err := checkBounds(cfg, memory, os.LookupEnv); err != nil {
		return err
	}
	if err := node.Try(cfg); err != nil {
		return err
	}
	said := "the options are good"
	if config != "" && setsNothing(config) {
		said += "; " + config + " sets none"
	}
	if cfg.Limits == "" && cfg.RLSConfig == "" && cfg.KuadrantConfig == "" {
		said += "; they name no file with limits (--limits, --rls-config, --kuadrant-config)"
	}
	if _, err := fmt.Fprintln(w, said); err != nil {
		return err
	}
	return checkFiles(w, cfg)
}

// setsNothing says whether a file of options, which was read, has none.
func setsNothing(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	fields, problem := strictyaml.Root(text)
	return fields == nil && problem == nil
}

// checkBounds is the bound of the memory, or what is wrong with it and with bounds that only the command has.
func checkBounds(cfg node.Config, memory int64, env cli.Lookup) (memoryBound, error) {
	bound, err := boundOf(memory, env)
	return bound, errors.Join(err, noZeros(cfg))
}

// noZeros refuses what means "as usual" to a program that embeds a node, and would be taken for "none" here.
func noZeros(cfg node.Config) error {
	switch {
	case cfg.InlineFill == 0:
		return errors.New("inline-fill: 0 is out of range: give how long the fill may take, such as 1s; nothing refuses all limits that requests define")
	case cfg.InlineRegisters == 0:
		return errors.New("inline-registers: 0 is out of range: give 1 or more; nothing refuses all limits that requests define")
	}
	return nil
}

// checkFiles says whether the files with limits that options of a node name are good, and what they mean.
func checkFiles(w io.Writer, cfg node.Config) error {
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
