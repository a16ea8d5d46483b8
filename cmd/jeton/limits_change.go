package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/client"
)

// sayInForce says which version is in force after a change. Next is what to do before another one.
func sayInForce(w io.Writer, change client.Applied, dry bool, next string) error {
	said := fmt.Sprintf("version %d is in force%s", change.Version, next)
	switch {
	case len(change.Names()) == 0:
		said = unchanged(change)
	case dry:
		said = fmt.Sprintf("nothing was changed: version %d is in force", change.Version)
	}
	_, err := fmt.Fprintln(w, said)
	return err
}

// unchanged says that limits are in force as they are to be.
func unchanged(change client.Applied) string {
	return fmt.Sprintf("nothing to change: version %d is in force, and says the same", change.Version)
}

// printChange writes what is not as it was: limits that are new (+), different (~) or gone (-), and of each its fields.
func printChange(w io.Writer, change client.Applied) error {
	sign := map[string]string{}
	for mark, names := range map[string][]string{"+": change.Added, "~": change.Changed, "-": change.Removed} {
		for _, name := range names {
			sign[name] = mark
		}
	}
	used := map[string]string{}
	for _, u := range change.Used {
		used[u.Limit] = fmt.Sprintf(" (in use: last check %v ago)", u.Ago.Round(time.Second))
	}
	for _, name := range change.Names() {
		if err := plain.Fprintf(w, "%s %s%s\n", sign[name], name, used[name]); err != nil {
			return err
		}
		if !slices.Contains(change.Removed, name) {
			if err := printFields(w, name, change.Fields); err != nil {
				return err
			}
		}
		if err := printEffects(w, name, change.Effects); err != nil {
			return err
		}
	}
	return nil
}

// printEffects writes what the change of one limit does to its buckets.
func printEffects(w io.Writer, name string, effects []limit.Effect) error {
	for _, e := range effects {
		if e.Limit != name {
			continue
		}
		if err := plain.Fprintf(w, "    · %s\n", e.Text); err != nil {
			return err
		}
	}
	return nil
}

// printFields writes the fields of one limit that differ, old → new. One that only the old algorithm has is left out of the new one.
func printFields(w io.Writer, name string, changes []limit.FieldChange) error {
	for _, c := range changes {
		if c.Limit != name {
			continue
		}
		value := c.After
		if c.Before != "" {
			value = c.Before + " → " + cmp.Or(c.After, limit.LeftOut)
		}
		if err := plain.Fprintf(w, "    %-15s %s\n", c.Field+":", value); err != nil {
			return err
		}
	}
	return nil
}
