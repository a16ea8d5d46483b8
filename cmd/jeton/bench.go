package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// benchName is the command that measures, and benchProgram the program that does it: it stands in a module of its own, so that
// what measures, such as a client of Redis, is not among the modules of a program that imports jeton.
const (
	benchName    = "bench"
	benchProgram = "jeton-bench"
)

func benchVerb() *cobra.Command {
	return &cobra.Command{
		Use:   benchName,
		Short: "Measure a node or a cluster, by jeton-bench, which is built from the repository and in no package",
		Long: "Measure a node or a cluster: hand everything on to the program jeton-bench, which lies beside jeton or in PATH.\n" +
			"It is in no package: in a clone of the repository of jeton, \"make build-bench\" builds it. \"jeton bench --help\" shows its options.",
		Example:            "  jeton bench --limit login",
		DisableFlagParsing: true, // the flags are those of the other program
		Args:               cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := findBench()
			switch {
			case err != nil && len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
				return cmd.Help()
			case err != nil:
				return err
			}
			err = syscall.Exec(program, append([]string{program}, args...), os.Environ()) // which returns only when it fails
			return fmt.Errorf("run %s: %w", program, err)
		},
	}
}

// findBench is the path of jeton-bench: beside this program, or in PATH.
func findBench() (path string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	beside := filepath.Join(filepath.Dir(self), benchProgram)
	if path, err = exec.LookPath(beside); err == nil {
		return path, nil
	}
	path, err = exec.LookPath(benchProgram)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is neither at %s nor in PATH: in a clone of jeton, \"make build-bench\" builds it beside ./jeton", benchProgram, beside)
	}
	return path, err
}
