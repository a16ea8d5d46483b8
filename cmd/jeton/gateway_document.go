package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

func gatewaySchemaVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of the document of a gateway, for editors",
		Example: "  jeton gateway schema > gateway.schema.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(string(schema)))
			return err
		},
	}
}

func gatewayDigestVerb() *cobra.Command {
	var document, secretFile string
	cmd := &cobra.Command{
		Use:   "digest",
		Short: "Compute the digest of an API key, by which the document of a gateway knows it",
		Long: "Compute the digest of an API key, by which the document of a gateway knows it: identity.api_key.known. The key is\n" +
			"read from standard input, one line, so that it stands in no list of processes and no history of a shell. The secret\n" +
			"is that of the document, or that in a file.",
		Example: "  jeton gateway digest --config gateway.yaml < key.txt\n" +
			"  openssl rand -hex 20 | tee key.txt | jeton gateway digest --secret-file secret",
		RunE: func(cmd *cobra.Command, _ []string) error {
			secret, err := digestSecret(document, secretFile)
			if err != nil {
				return err
			}
			key, err := readKey(cmd.InOrStdin())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), identity.Digest(secret, key))
			return err
		},
	}
	addDocumentFlag(cmd.Flags(), &document)
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "file with the secret of the digests, instead of that of a document")
	return cmd
}

// digestSecret is the secret that the document or the file has.
func digestSecret(document, file string) ([]byte, error) {
	switch {
	case (document == "") == (file == ""):
		return nil, errors.New("--config, --secret-file: give one of the two")
	case file != "":
		secret, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		return secret, nil
	}
	doc, err := config.ReadInsecure(document)
	if err != nil { // such as one that knows no key yet
		return nil, fmt.Errorf("%w\n--secret-file takes the secret without the document", err)
	}
	if doc.Identity.APIKey == nil {
		return nil, fmt.Errorf("%s: identity.api_key: is not there, so there is no secret: add it, or give --secret-file", document)
	}
	if !doc.Identity.APIKey.SecretFile.Given() {
		return nil, fmt.Errorf("%s: identity.api_key.secret_file: is not there: keys of a keys_file are made with jeton keys make", document)
	}
	return doc.Identity.APIKey.SecretFile.Bytes(), nil
}

// readKey reads an API key, one line.
func readKey(in io.Reader) (string, error) {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("standard input: %w", err)
	}
	key := strings.TrimRight(line, "\r\n")
	if key == "" {
		return "", errors.New("standard input: holds no API key: write it there, one line")
	}
	return key, nil
}

// addDocumentFlag adds the option that names the document of a gateway.
func addDocumentFlag(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, cli.ConfigOption, "", "YAML file with the document of the gateway")
	flags.SetAnnotation(cli.ConfigOption, cli.OwnDocument, nil) //nolint:errcheck // it is there
}
