package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/manual"
	"github.com/jeton-dev/jeton/internal/build"
)

func manVerb() *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Write the manual pages of all commands into a directory",
		Long:    "Write the manual pages of all commands into a directory, which is made if it is missing. Packages have them already.",
		Example: "  jeton man --into ~/.local/share/man/man1 && man jeton-serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if into == "" {
				return errors.New("--into: name the directory for the pages, such as ~/.local/share/man/man1")
			}
			if err := os.MkdirAll(into, 0o755); err != nil { //nolint:gosec // for everybody to read
				return err
			}
			this := build.This()
			for _, p := range manual.Pages(cmd.Root(), "jeton "+this.Version, this.Date) {
				if err := os.WriteFile(filepath.Join(into, p.Name), []byte(p.Text), 0o644); err != nil { //nolint:gosec // likewise
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&into, "into", "", "directory for the pages")
	return cmd
}
