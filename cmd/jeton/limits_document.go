package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/backup"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A limitsDocument is what limits apply and limits diff read. Among its first lines may be one that says which version of the limits
// it was made from:
//
//	# version 4
type limitsDocument struct {
	file    string
	text    string // without that line
	line    int    // where it is; 0 without one
	version uint64 // that it names
}

// standardInput is the name of the file that -f - reads.
const standardInput = "standard input"

// readDocument reads and parses a limits document, so that an error names the file and the line.
func readDocument(stdin io.Reader, file string) (d limitsDocument, err error) {
	var text []byte
	switch file {
	case "":
		return d, errors.New("-f: name the file with the limits, or - for standard input")
	case "-":
		file = standardInput
		text, err = io.ReadAll(stdin)
	default:
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return d, fmt.Errorf("-f: %w", err)
	}
	if _, err := limit.ReadDocument(text); err != nil {
		if _, other := backup.Decode(text); other == nil {
			return d, fmt.Errorf("%s: is what jeton cluster export has written, which jeton cluster import puts in force", file)
		}
		return d, fmt.Errorf("%s: %w", file, err)
	}
	rest, version, line := limit.CutVersion(text)
	return limitsDocument{file: file, text: string(rest), line: line, version: version}, nil
}

// merged is the document with the limits in force in addition, and the version of those.
func (d limitsDocument) merged(ctx context.Context, c *client.Client) (all limitsDocument, version uint64, err error) {
	own, err := limit.ParseDocument([]byte(d.text))
	if err != nil {
		return d, 0, err
	}
	stored, version, err := c.LimitsText(ctx)
	if err != nil {
		return d, 0, err
	}
	inForce, err := limit.ParseDocument([]byte(stored))
	if err != nil {
		return d, 0, err
	}
	text, err := inForce.With(own).YAML()
	all = d
	all.text = string(text)
	return all, version, err
}

// withVersion is a document as limits get prints it.
func withVersion(version uint64, text string) string {
	bare, _, _ := limit.CutVersion([]byte(text))
	return fmt.Sprintf("# version %d\n%s", version, bare)
}

// otherThan says whether the document was made from another version than one.
func (d limitsDocument) otherThan(version uint64) bool { return d.line > 0 && d.version != version }

// apply shows what the document changes and puts it in force, with the limits in force in addition if it is to be merged with them.
func (d limitsDocument) apply(ctx context.Context, c *client.Client, asked client.Apply, merge bool, show func(client.Applied) error) (change client.Applied, err error) {
	if merge {
		var version uint64
		if d, version, err = d.merged(ctx, c); err != nil {
			return change, err
		}
		if asked.Version == 0 && d.line == 0 {
			asked.Version = version // replace only the version that this was merged with
		}
	}
	asked.Document = d.text
	return d.replace(ctx, c, asked, show)
}

// replace puts the document in force in the place of the version that it was made from, or of the one that show has shown the changes
// to. Where another one is in force, that is an error, unless the document says what is in force already: so a file can be applied again
// and again.
func (d limitsDocument) replace(ctx context.Context, c *client.Client, asked client.Apply, show func(client.Applied) error) (client.Applied, error) {
	change, err := dryRun(ctx, c, asked)
	switch {
	case err != nil:
		return change, err
	case d.otherThan(change.Version) && len(change.Names()) > 0:
		return client.Applied{}, fmt.Errorf("%s:%d: the document was made from version %d, and version %d is in force: the limits have changed since. "+
			"Get them again (jeton limits get) and make your change there. Or replace what is in force: remove the line, or say --version %d. "+
			"jeton limits diff shows what that would change",
			d.file, d.line, d.version, change.Version, change.Version)
	}
	return putInForce(ctx, c, asked, change, show)
}

// dryRun is what a change of the limits would change.
func dryRun(ctx context.Context, c *client.Client, asked client.Apply) (client.Applied, error) {
	asked.DryRun = true
	return c.ApplyLimits(ctx, asked)
}

// putInForce shows what would change, and then changes it, if the version that this was compared with is in force still.
func putInForce(ctx context.Context, c *client.Client, asked client.Apply, would client.Applied, show func(client.Applied) error) (client.Applied, error) {
	if err := show(would); err != nil || asked.DryRun || len(would.Names()) == 0 {
		return would, err
	}
	asked.Version = would.Version
	return c.ApplyLimits(ctx, asked)
}

// beforeTheNext says what to do with the file before another change of it is applied; nothing where it names the version in force,
// or none.
func (d limitsDocument) beforeTheNext(change client.Applied) string {
	if !d.otherThan(change.Version) || d.file == standardInput {
		return ""
	}
	return fmt.Sprintf("; for your next change, let %s begin with # version %d", d.file, change.Version)
}
