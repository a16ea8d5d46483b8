package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/gateway/keys"
	"github.com/jeton-dev/jeton/internal/plain"
)

func keysVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make, list and revoke API keys in a file that gateways follow",
		Long: "Make, list and revoke API keys in a file that gateways follow: identity.api_key.keys_file of their documents. The file\n" +
			"has a line for each key, with its label, its owner and its SHA-256, and never a key itself. A gateway takes a changed\n" +
			"file within two seconds. Where gateways run on several machines, each needs the file.",
		Example: "  jeton keys make --file keys.jsonl --label ci --owner acme --attribute plan=gold > key\n" +
			"  jeton keys list --file keys.jsonl\n  jeton keys revoke ci --file keys.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysMakeVerb(), keysListVerb(), keysRevokeVerb())
	return cmd
}

// addFileFlag adds the option that names the file of keys.
func addFileFlag(cmd *cobra.Command, path *string, what string) {
	cmd.Flags().StringVar(path, "file", "", what)
}

func needsFile(path string) error {
	if path == "" {
		return errors.New("--file: name the file of keys, such as keys.jsonl: identity.api_key.keys_file of the gateway's document")
	}
	return nil
}

// needsAll is an error that says which of a verb's options are missing, and shows a command line that has them.
func needsAll(verb *cobra.Command, names ...string) error {
	var missing []string
	for _, name := range names {
		if verb.Flags().Lookup(name).Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("missing: %s: as in %s", strings.Join(missing, ", "), cli.ExampleOf(verb))
}

func keysMakeVerb() *cobra.Command {
	var file, expires string
	var attributes []string
	var k keys.Key
	cmd := &cobra.Command{
		Use:        "make",
		SuggestFor: []string{"create", "add", "new", "generate"},
		Short:      "Make a key, add it to the file, and print it: this is the only time that it can be seen",
		Long: "Make a key of 256 random bits, add it to the file, which is made if there is none, and print the key. The file\n" +
			"has its SHA-256 only: a key that is lost cannot be recovered.",
		Example: "  jeton keys make --file keys.jsonl --label ci --owner acme --attribute plan=gold\n" +
			"  jeton keys make --file keys.jsonl --label trial-17 --owner initech --expires 720h",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := needsAll(cmd, "file", "label", "owner"); err != nil {
				return err
			}
			if k.Attributes, err = readAttributes(attributes); err != nil {
				return err
			}
			if k.Expires, err = readExpiry(expires, time.Now()); err != nil {
				return err
			}
			secret := keys.Make()
			k.Digest = keys.DigestOf(secret)
			if err := keys.Add(file, k); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), secret); err != nil {
				return fmt.Errorf("the key %s is in %s, but it could not be printed: revoke it: %w", k.Label, file, err)
			}
			return nil
		},
	}
	addFileFlag(cmd, &file, "file of keys to add to")
	flags := cmd.Flags()
	flags.StringVar(&k.Label, "label", "", "name of the key, its own in the file: for people, logs and revoke")
	flags.StringVar(&k.Owner, "owner", "", "whom the key belongs to: {api_key.owner} in the gateway's document")
	flags.StringArrayVar(&attributes, "attribute", nil, "what else is known of it, name=value, such as plan=gold: {api_key.plan}; may be given several times")
	flags.StringVar(&expires, "expires", "", "until when it counts: 2027-01-31, 2027-01-31T12:00:00Z, or how long from now on, such as 720h")
	return cmd
}

// readAttributes reads name=value.
func readAttributes(texts []string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("--attribute: %q is no attribute: write name=value, such as plan=gold", text)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("--attribute: %s is given twice: leave one of them out", name)
		}
		all[name] = value
	}
	return all, nil
}

// readExpiry reads until when a key counts; the zero Time means that it never expires.
func readExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	if err != nil {
		var d time.Duration
		if d, err = time.ParseDuration(text); err == nil {
			t = now.Add(d).Truncate(time.Second)
		}
	}
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("--expires: %q is no time: write 2027-01-31, 2027-01-31T12:00:00Z, or how long from now on, such as 720h", text)
	case !t.After(now):
		return time.Time{}, fmt.Errorf("--expires: %s is over already: the key would never count", t.UTC().Format(time.RFC3339))
	}
	return t, nil
}

// listedKey is a key as the list has it.
type listedKey struct {
	Label      string            `json:"label"`
	Owner      string            `json:"owner"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Expires    *time.Time        `json:"expires,omitempty"`
	Expired    bool              `json:"expired,omitempty"`
	Hash       string            `json:"hash"`
}

func keysListVerb() *cobra.Command {
	var file string
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:        "list",
		SuggestFor: []string{"ls", "show", "get"},
		Short:      "List the keys in a file, or in a folder of such files",
		Long:       "List the keys in a file, or in a folder whose files that end in .jsonl all count. hash is the beginning of a key's SHA-256.",
		Example:    "  jeton keys list --file keys.jsonl\n  jeton keys list --file keys.d --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needsFile(file); err != nil {
				return err
			}
			set, err := new(keys.Reader).Read(file)
			if err != nil {
				return err
			}
			now := time.Now()
			list := make([]listedKey, 0, len(set.All()))
			for _, k := range set.All() {
				one := listedKey{Label: k.Label, Owner: k.Owner, Attributes: k.Attributes, Expired: k.Expired(now), Hash: k.Digest.Short()}
				if !k.Expires.IsZero() {
					one.Expires = &k.Expires
				}
				list = append(list, one)
			}
			if output.Value == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
			}
			return printKeys(cmd.OutOrStdout(), list)
		},
	}
	addFileFlag(cmd, &file, "file of keys, or a folder of such files")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

func printKeys(w io.Writer, list []listedKey) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LABEL\tOWNER\tEXPIRES\tHASH\tATTRIBUTES")
	for _, k := range list {
		expires := "never"
		if k.Expires != nil {
			expires = k.Expires.UTC().Format(time.RFC3339)
		}
		if k.Expired {
			expires += " (over)"
		}
		var attributes []string
		for _, name := range slices.Sorted(maps.Keys(k.Attributes)) {
			attributes = append(attributes, name+"="+k.Attributes[name])
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", k.Label, k.Owner, expires, k.Hash, strings.Join(attributes, " "))
	}
	return table.Flush()
}

func keysRevokeVerb() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:        "revoke LABEL",
		SuggestFor: []string{"delete", "remove", "rm"},
		Short:      "Take a key out of the file: gateways that follow it do not know the key any more",
		Example:    "  jeton keys revoke ci --file keys.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needsFile(file); err != nil {
				return err
			}
			k, err := keys.Revoke(file, args[0], time.Now())
			switch {
			case errors.Is(err, keys.ErrUnknown):
				return fmt.Errorf("%w: jeton keys list --file %s shows those that there are", err, file)
			case err != nil:
				return err
			}
			return plain.Fprintf(cmd.OutOrStdout(), "revoked %s, of %s, whose SHA-256 begins with %s\n", k.Label, k.Owner, k.Digest.Short())
		},
	}
	addFileFlag(cmd, &file, "file of keys to take it out of")
	return cmd
}
