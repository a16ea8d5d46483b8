package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/simulate"
)

// A simulator replays logs against limits.
type simulator struct {
	file  string
	tries []string
	plain bool
	width int
	cfg   simulate.Config
}

func simulateVerb() *cobra.Command {
	var s simulator
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:        "simulate LOG…",
		SuggestFor: []string{"replay", "try", "whatif"},
		Short:      "Say what limits would have done to the traffic of a log",
		Long: "Say what limits would have done to the traffic of a log, without a server: what each would have admitted and denied, of\n" +
			"which keys, and when. Every limit of the document is a candidate by itself, with buckets of its own.\n\n" +
			"A log has JSON lines, or is an access log in the common or combined format, as nginx and Apache write it; it may be\n" +
			"compressed with gzip, and - reads standard input. Several logs are merged by time. Lines may be out of order by 65,536\n" +
			"lines. What cannot be used is left out, counted, and shown; with more than a tenth of the lines that is an error.\n\n" +
			"Fields of JSON have dots where they are nested, such as user.id. Those of an access log are addr, ident, user, method,\n" +
			"path (without the query), query, protocol, status, bytes, referer and agent.",
		Example: "  jeton simulate -f limits.yaml access.log\n" +
			"  jeton simulate --try 'capacity: 10, refill: 1/s' --try 'capacity: 100, refill: 100/1m' access.log*\n" +
			"  jeton simulate -f limits.yaml --limit login --key '{user.id}' --cost tokens requests.jsonl.gz\n" +
			"  jeton simulate -f limits.yaml --output json - < access.log",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("LOG is missing: use %s, as in %s", cmd.UseLine(), cli.ExampleOf(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := s.run(cmd.InOrStdin(), cmd.OutOrStdout(), args)
			if err != nil {
				return err
			}
			if output.Value == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
			}
			_, onTerminal := widthOf(cmd.OutOrStdout())
			return report.Print(cmd.OutOrStdout(), simulate.Style{Plain: s.plain || !onTerminal})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&s.file, "file", "f", "", "the YAML document with the limits; - reads standard input")
	flags.StringSliceVar(&s.cfg.Names, "limit", nil, "only these limits of the document")
	flags.StringArrayVar(&s.tries, "try", nil, "a limit as a document writes it, such as 'capacity: 10, refill: 1/s', or as 'capacity=10 refill=1/s'; can be repeated")
	flags.StringVar(&s.cfg.Fields.Key, "key", "", "who is limited, made of fields, such as '{user}:{path}'; empty means {key}, or {addr} in an access log; without a field, all lines have that one key")
	flags.StringSliceVar(&s.cfg.Fields.Time, "time", nil, "field of JSON with the time, in RFC 3339 or as Unix time; of several the first that a line has; empty means time,timestamp,ts,@timestamp")
	flags.StringVar(&s.cfg.Fields.Cost, "cost", "", "field with the cost in tokens, or a number; empty means cost; a line without the field costs 1")
	flags.StringVar(&s.cfg.Fields.Plan, "plan", "", "field with the plan, where limits have plans; empty means plan; a line without the field has none")
	flags.IntVar(&s.cfg.Top, "top", 5, "how many of the keys that a limit denied or delayed most are shown")
	flags.BoolVar(&s.plain, "plain", false, "draw with ASCII; so it is when the output is no terminal")
	flags.IntVar(&s.width, "width", 0, "width of the output in columns; 0 means that of the terminal, or 80")
	flags.Var(output, "output", "form of the output")
	return cmd
}

// run reads what is simulated, and simulates it.
func (s *simulator) run(stdin io.Reader, stdout io.Writer, logs []string) (*simulate.Report, error) {
	var err error
	if s.cfg.Limits, err = s.limits(stdin); err != nil {
		return nil, err
	}
	if err := s.layout(stdout); err != nil {
		return nil, err
	}
	files, err := s.open(stdin, logs)
	defer func() {
		for _, file := range files {
			_ = file.Close() // it was only read
		}
	}()
	if err != nil {
		return nil, err
	}
	return simulate.Run(s.cfg)
}

// open opens the logs. The caller closes the files, also when there is an error.
func (s *simulator) open(stdin io.Reader, logs []string) (files []*os.File, err error) {
	used := s.file == "-"
	for _, name := range logs {
		if name == "-" {
			if used {
				return files, errors.New("standard input can be read once: name a file for the limits, or for the log")
			}
			used = true
			s.cfg.Logs = append(s.cfg.Logs, simulate.Log{Name: standardInput, Text: stdin})
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return files, err
		}
		files = append(files, file)
		s.cfg.Logs = append(s.cfg.Logs, simulate.Log{Name: name, Text: file})
	}
	return files, nil
}

// limits are those of the document and those that are tried.
func (s *simulator) limits(stdin io.Reader) (*limit.Document, error) {
	all := new(limit.Document)
	if s.file != "" {
		d, err := readDocument(stdin, s.file)
		if err != nil {
			return nil, err
		}
		if all, err = limit.ParseDocument([]byte(d.text)); err != nil {
			return nil, err
		}
	}
	for i, try := range s.tries {
		name := fmt.Sprintf("try-%d", i+1)
		one, err := tried(name, try)
		if err != nil {
			return nil, fmt.Errorf("--try %.128q: %w", try, err)
		}
		if _, there := all.Rule(name); there {
			return nil, fmt.Errorf("--try: the document has a limit %s already: give that another name", name)
		}
		all = all.With(one)
		if len(s.cfg.Names) > 0 {
			s.cfg.Names = append(s.cfg.Names, name)
		}
	}
	return all, nil
}

// pair is a field of a limit and its value on the command line, with what separates it from the next one.
var pair = regexp.MustCompile(`^([a-z_]+)\s*[:=]\s*([^\s,]+)[\s,]*`)

// tried is the document of one limit that was given as text.
func tried(name, text string) (*limit.Document, error) {
	fields := strings.TrimSpace(text)
	if !strings.HasPrefix(fields, "{") {
		var pairs []string
		for rest := fields; rest != ""; {
			found := pair.FindStringSubmatch(rest)
			if found == nil {
				return nil, fmt.Errorf("%.128q is no field of a limit: write 'capacity: 10, refill: 1/s'", rest)
			}
			pairs = append(pairs, found[1]+": "+found[2])
			rest = rest[len(found[0]):]
		}
		fields = "{" + strings.Join(pairs, ", ") + "}"
	}
	doc, err := limit.ParseDocument([]byte("limits: {" + name + ": " + fields + "}\n"))
	if wrong, is := errors.AsType[*limit.FieldError](err); is {
		return nil, &limit.FieldError{Field: strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "limits."+name), "."), Problem: wrong.Problem}
	}
	return doc, err
}

// The widths that a report can have.
const (
	leastWidth, mostWidth = simulate.Margin + 20, 1000
	usualWidth            = 80
)

// layout decides how wide the report is.
func (s *simulator) layout(stdout io.Writer) error {
	width := s.width
	switch {
	case s.cfg.Top < 0:
		return fmt.Errorf("--top: %d: use 0 or more", s.cfg.Top)
	case width == 0:
		width, _ = widthOf(stdout)
		width = min(max(width, leastWidth), mostWidth)
	case width < leastWidth || width > mostWidth:
		return fmt.Errorf("--width: %d: use %d to %d columns, or 0", width, leastWidth, mostWidth)
	}
	s.cfg.Columns = width - simulate.Margin
	return nil
}

// widthOf is how many columns the terminal behind a writer has; ok is false if there is none.
func widthOf(w io.Writer) (columns int, ok bool) {
	if t, wrapped := w.(*cli.Terminal); wrapped {
		w = t.To
	}
	file, is := w.(*os.File)
	if !is {
		return usualWidth, false
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ) //nolint:gosec // a descriptor fits
	if err != nil {
		return usualWidth, false
	}
	if size.Col == 0 {
		return usualWidth, true
	}
	return int(size.Col), true
}
