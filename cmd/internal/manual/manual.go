// Package manual writes the manual pages of a program from its commands: one for each, in the language of man. Start with [Pages].
package manual

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Page is the manual page of one command.
type Page struct {
	Name string // of its file, such as jeton-cluster-status.1
	Text string
}

// Pages are those of a program and all commands that its help shows. Source is the version that they are of, and at its date, which
// may be zero; nothing else varies between two calls.
func Pages(root *cobra.Command, source string, at time.Time) []Page {
	date := ""
	if !at.IsZero() {
		date = at.UTC().Format(time.DateOnly)
	}
	var all []Page
	var add func(*cobra.Command)
	add = func(verb *cobra.Command) {
		if verb != root && (!verb.IsAvailableCommand() || verb.Name() == "help") {
			return
		}
		p := &page{}
		p.write(verb, date, source)
		all = append(all, Page{Name: nameOf(verb) + ".1", Text: p.String()})
		for _, below := range verb.Commands() {
			add(below)
		}
	}
	add(root)
	return all
}

// nameOf is the name of the page of a command.
func nameOf(verb *cobra.Command) string { return strings.ReplaceAll(verb.CommandPath(), " ", "-") }

// A page is one that is being written.
type page struct{ strings.Builder }

func (p *page) write(verb *cobra.Command, date, source string) {
	fmt.Fprintf(p, ".TH %q 1 %q %q %q\n", strings.ToUpper(nameOf(verb)), date, source, "Manual of "+verb.Root().Name())
	p.section("NAME")
	p.line(fmt.Sprintf("%s - %s", nameOf(verb), verb.Short))
	p.section("SYNOPSIS")
	p.WriteString(".B ")
	p.line(verb.UseLine())
	p.section("DESCRIPTION")
	long := verb.Long
	if long == "" {
		long = verb.Short + "."
	}
	p.paragraphs(long)
	p.options("OPTIONS", verb.LocalFlags())
	p.options("OPTIONS OF ALL COMMANDS", verb.InheritedFlags())
	if verb.Example != "" {
		p.section("EXAMPLES")
		p.asTyped(verb.Example)
	}
	p.seeAlso(verb)
}

func (p *page) section(name string) { fmt.Fprintf(p, ".SH %s\n", name) }

// line writes a line of text, which the language of man takes for nothing else.
func (p *page) line(text string) {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	p.WriteString(text + "\n")
}

// paragraphs writes text whose paragraphs have an empty line between them. One with indented lines stays as it is typed.
func (p *page) paragraphs(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			p.asTyped(paragraph)
			continue
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			p.line(line)
		}
	}
}

// asTyped writes lines that are not to be filled.
func (p *page) asTyped(text string) {
	p.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		p.line(line)
	}
	p.WriteString(".fi\n")
}

func (p *page) options(section string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(section)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		p.WriteString(".TP\n.B ")
		p.line(strings.TrimSpace(name + " " + kind))
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			usage += " (default " + f.DefValue + ")"
		}
		p.line(usage)
	})
}

func (p *page) seeAlso(verb *cobra.Command) {
	var others []string
	if verb.HasParent() {
		others = append(others, nameOf(verb.Parent()))
	}
	for _, below := range verb.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" {
			others = append(others, nameOf(below))
		}
	}
	if len(others) == 0 {
		return
	}
	p.section("SEE ALSO")
	for i, other := range others {
		end := ","
		if i == len(others)-1 {
			end = ""
		}
		p.WriteString(".BR ")
		p.line(other + " (1)" + end)
	}
}
