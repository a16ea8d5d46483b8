package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A limitsDocument is what limits apply and limits diff read. Its first line may say which version of the limits it was made from:
//
//	# version 4
type limitsDocument struct {
	file      string
	text      string // without that line
	versioned bool   // there is such a line
	version   uint64 // that it names
}

// standardInput is the name of the file that -f - reads.
const standardInput = "standard input"

// versionLine is the line in which limits get says what is in force.
var versionLine = regexp.MustCompile(`^# version (\d+)\r?(\n|$)`)

// readDocument reads a limits document and makes sure that it is one, so that what is wrong is told with its line.
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
	if _, err := limit.ParseDocument(text); err != nil {
		return d, fmt.Errorf("%s: %w", file, err)
	}
	d = limitsDocument{file: file, text: withoutVersion(string(text))}
	if found := versionLine.FindSubmatch(text); found != nil {
		d.version, err = strconv.ParseUint(string(found[1]), 10, 64)
		d.versioned = err == nil
	}
	return d, nil
}

// withVersion is a document as limits get prints it.
func withVersion(version uint64, text string) string {
	return fmt.Sprintf("# version %d\n%s", version, withoutVersion(text))
}

// withoutVersion is a document without the line of its version: what a cluster keeps gets another one with each change.
func withoutVersion(text string) string {
	for {
		found := versionLine.FindString(text)
		if found == "" {
			return text
		}
		text = text[len(found):]
	}
}

// otherThan says whether the document was made from another version than one.
func (d limitsDocument) otherThan(version uint64) bool { return d.versioned && d.version != version }

// apply puts the document in force in the place of the version that it was made from. Where another one is in force, that is an
// error, unless the document says what is in force already: so a file can be applied again and again.
func (d limitsDocument) apply(ctx context.Context, c *client.Client, asked client.Apply) (client.Applied, error) {
	if !d.versioned {
		return c.ApplyLimits(ctx, asked)
	}
	would := asked
	would.DryRun = true
	change, err := c.ApplyLimits(ctx, would)
	switch {
	case err != nil || asked.DryRun && !d.otherThan(change.Version):
		return change, err
	case !d.otherThan(change.Version):
		asked.Version = d.version
		return c.ApplyLimits(ctx, asked)
	case len(change.Names()) == 0:
		return change, nil
	}
	return client.Applied{}, fmt.Errorf("%s:1: the document was made from version %d, and version %d is in force: somebody has changed the limits since. "+
		"Get them again (jeton limits get) and make your change there. Or replace what is in force: remove the line, or say --version %d. "+
		"jeton limits diff shows what that would change",
		d.file, d.version, change.Version, change.Version)
}

// beforeTheNext says what to do with the file before another change of it is applied; nothing where it names the version in force,
// or none, or was applied without a change.
func (d limitsDocument) beforeTheNext(change client.Applied) string {
	if !d.otherThan(change.Version) || len(change.Names()) == 0 || d.file == standardInput {
		return ""
	}
	return fmt.Sprintf("; for your next change, let %s begin with # version %d", d.file, change.Version)
}
