// Package transcript reads the commands of a page of the documentation, so that a test can run them.
//
// A block of commands begins with ```sh, each line a command, or with ```console, where commands follow "$ " and what they
// print stands below. A comment directly above a block says more:
//
//	<!-- not run: why -->       the test leaves the block out
//	<!-- before: command -->    the test runs this first; "stop" ends what runs in the background
//	<!-- file: name -->         the block, in any language, is the content of that file
//
// Start with [Read].
package transcript

import (
	"fmt"
	"regexp"
	"strings"
)

// A Block is a fenced block of a page that a test has to do with.
type Block struct {
	Line     int      // of the fence, from 1
	NotRun   string   // why it is left out; empty if it is run
	Before   []string // commands to run first
	File     string   // the name of the file whose content the block is; then there are no commands
	Content  string   // of that file
	Commands []Command
}

// A Command is one line that a reader types.
type Command struct {
	Line  int    // from 1
	Text  string // with the lines that continue it
	Shows string // what it prints, as far as the page has it
}

var (
	fence   = regexp.MustCompile("^```([a-z]*)$")
	comment = regexp.MustCompile(`^<!-- (not run|before|file): (.+) -->$`)
)

// Read finds the blocks of a page with commands or files. Its error names the line of a block that looks like commands and
// is not marked as such, of a comment without a block, and of a fence that is not closed.
func Read(page string) (blocks []Block, err error) {
	lines := strings.Split(page, "\n")
	var next Block // what the comments above say
	said := 0      // the line of the first of them
	for i := 0; i < len(lines); i++ {
		if c := comment.FindStringSubmatch(lines[i]); c != nil {
			if said == 0 {
				said = i + 1
			}
			next.note(c[1], c[2])
			continue
		}
		opened := fence.FindStringSubmatch(lines[i])
		if opened == nil {
			if said > 0 {
				return nil, fmt.Errorf("line %d: the comment is not directly above a block", said)
			}
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end] != "```" {
			end++
		}
		if end == len(lines) {
			return nil, fmt.Errorf("line %d: the block does not end", i+1)
		}
		next.Line = i + 1
		relevant, err := next.fill(opened[1], lines[i+1:end])
		if err != nil {
			return nil, err
		}
		if relevant || said > 0 {
			blocks = append(blocks, next)
		}
		next, said, i = Block{}, 0, end
	}
	return blocks, nil
}

// note takes in a comment.
func (b *Block) note(kind, text string) {
	switch kind {
	case "not run":
		b.NotRun = text
	case "before":
		b.Before = append(b.Before, text)
	case "file":
		b.File = text
	}
}

// fill takes in what stands between the fences, and says whether it is commands or a file.
func (b *Block) fill(language string, lines []string) (relevant bool, err error) {
	switch {
	case b.File != "":
		b.Content = strings.Join(lines, "\n") + "\n"
		return true, nil
	case language == "sh":
		for i := 0; i < len(lines); i++ {
			c := Command{Line: b.Line + 1 + i}
			c.Text, i = continued(lines, i, "")
			b.Commands = append(b.Commands, c)
		}
		return true, nil
	case language == "console":
		return true, b.console(lines)
	case len(lines) > 0 && strings.HasPrefix(lines[0], "$ "):
		return false, fmt.Errorf("line %d: the block has commands: begin it with ```console", b.Line)
	}
	return false, nil
}

// console reads commands and what they print.
func (b *Block) console(lines []string) error {
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "$ ") {
			if len(b.Commands) == 0 {
				return fmt.Errorf("line %d: a block of console begins with a command, after \"$ \"", b.Line)
			}
			b.Commands[len(b.Commands)-1].Shows += lines[i] + "\n"
			continue
		}
		c := Command{Line: b.Line + 1 + i}
		c.Text, i = continued(lines, i, "$ ")
		b.Commands = append(b.Commands, c)
	}
	return nil
}

// continued is the command that begins in a line, and the last of its lines.
func continued(lines []string, from int, prompt string) (text string, last int) {
	text, last = strings.TrimPrefix(lines[from], prompt), from
	for strings.HasSuffix(text, `\`) && last+1 < len(lines) {
		last++
		text += "\n" + lines[last]
	}
	return text, last
}

var (
	word   = regexp.MustCompile(`[A-Za-z0-9_:.-]{8,}|[0-9]{4,}`)
	letter = regexp.MustCompile(`[A-Za-z]`)
	digit  = regexp.MustCompile(`[0-9]`)
)

// Matches says whether a command has printed what the page shows: its lines, in that order, with others between. Space
// counts as one blank, and capitals as small letters, as in the names of headers; … stands for anything in a line. What differs from run to run may differ: numbers of four digits and
// more, and words of eight characters and more that have both letters and digits, such as ids and times.
func Matches(shows, printed string) bool {
	pattern := new(strings.Builder)
	pattern.WriteString("(?i)")
	for line := range strings.Lines(shows) {
		fields := strings.Fields(line)
		for i, field := range fields {
			fields[i] = wild(field)
		}
		if len(fields) > 0 {
			pattern.WriteString(strings.ReplaceAll(strings.Join(fields, `\s+`), `\s+.*\s+`, ".*") + `[\s\S]*?`)
		}
	}
	return regexp.MustCompile(pattern.String()).MatchString(printed)
}

// wild is the pattern of a word.
func wild(field string) string {
	var pattern strings.Builder
	for i, part := range strings.Split(field, "…") {
		if i > 0 {
			pattern.WriteString(".*")
		}
		from := 0
		for _, at := range word.FindAllStringIndex(part, -1) {
			w := part[at[0]:at[1]]
			varies := digit.MatchString(w) && (letter.MatchString(w) || !strings.ContainsAny(w, ":.-_"))
			if !varies {
				continue
			}
			pattern.WriteString(regexp.QuoteMeta(part[from:at[0]]) + `[A-Za-z0-9_:.-]+`)
			from = at[1]
		}
		pattern.WriteString(regexp.QuoteMeta(part[from:]))
	}
	return pattern.String()
}
