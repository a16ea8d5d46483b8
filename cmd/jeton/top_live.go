package main

import (
	"context"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/jeton/top"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// screenOf is the terminal that a verb writes to, if it can show a screen; otherwise nil.
func screenOf(cmd *cobra.Command) *os.File {
	out, known := cmd.OutOrStdout().(*cli.Terminal)
	if !known {
		return nil
	}
	tty, isFile := out.To.(*os.File)
	if name := os.Getenv("TERM"); !isFile || !term.IsTerminal(tty.Fd()) || name == "dumb" || name == "" {
		return nil
	}
	return tty
}

// A live screen follows a cluster. Only the goroutine of the program uses it; questions run beside it, one of each kind at a time.
type live struct {
	screen *top.Screen
	every  time.Duration
	now    func() time.Time
	// next is what the cluster did since it was called before, or nil if there is nothing new; search looks for keys. Nil where only a
	// bucket is looked at.
	next    func(context.Context) (*activity.View, error)
	search  func(context.Context, top.Search) *top.Found
	inspect func(context.Context, top.Bucket) (limit.Inspection, error)

	later     func(func(context.Context) tea.Msg) tea.Cmd // runs a question beside
	looking   bool
	searching bool
	opening   bool
	opened    top.Bucket // that was asked for last
	sought    top.Search // likewise
}

// What questions are answered with.
type (
	ticked struct{}
	looked struct {
		view *activity.View
		err  error
	}
	inspected struct {
		bucket top.Bucket
		in     *limit.Inspection
		err    error
	}
	searched struct{ found *top.Found }
)

// watch shows a live screen in a terminal, until the person leaves or ctx ends.
func watch(ctx context.Context, tty *os.File, l *live) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends questions that are under way
	l.later = func(ask func(context.Context) tea.Msg) tea.Cmd { return func() tea.Msg { return ask(ctx) } }
	input := os.Stdin
	if !term.IsTerminal(input.Fd()) {
		input = tty // keys come from where the screen is
	}
	p := tea.NewProgram(l, tea.WithInput(input), tea.WithOutput(tty), tea.WithoutSignalHandler())
	stop := context.AfterFunc(ctx, p.Quit)
	defer stop()
	_, err := p.Run()
	return err
}

// Init implements [tea.Model].
func (l *live) Init() tea.Cmd { return l.tick() }

// tick waits for the time of the next questions.
func (l *live) tick() tea.Cmd {
	return l.later(func(ctx context.Context) tea.Msg {
		timer := time.NewTimer(l.every)
		defer timer.Stop()
		select {
		case <-timer.C:
			return ticked{}
		case <-ctx.Done():
			return nil
		}
	})
}

// Update implements [tea.Model].
func (l *live) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now, again := l.now(), false
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.screen.Resize(msg.Width, msg.Height)
	case tea.PasteMsg:
		l.screen.Write(msg.Content)
	case tea.KeyPressMsg:
		if msg.Keystroke() == "ctrl+z" {
			return l, tea.Suspend
		}
		if l.screen.Press(msg.Keystroke(), msg.Text) {
			return l, tea.Quit
		}
	case ticked:
		l.screen.Tick(now)
		again = true
	case looked:
		l.looking = false
		switch {
		case msg.err != nil:
			l.screen.Failed(msg.err, now)
		case msg.view != nil:
			l.screen.Show(msg.view, now)
		}
	case inspected:
		l.opening = false
		l.screen.ShowBucket(msg.bucket, msg.in, msg.err, now)
	case searched:
		l.searching = false
		l.screen.ShowFound(msg.found, now)
	}
	asks := []tea.Cmd{l.open(again), l.find(again)}
	if again {
		asks = append(asks, l.tick(), l.look())
	}
	return l, tea.Batch(asks...)
}

// View implements [tea.Model].
func (l *live) View() tea.View {
	v := tea.NewView(l.screen.Frame())
	v.AltScreen = true
	return v
}

// look asks what the cluster does, unless that is asked already.
func (l *live) look() tea.Cmd {
	if l.looking || l.next == nil {
		return nil
	}
	l.looking = true
	return l.later(func(ctx context.Context) tea.Msg {
		view, err := l.next(ctx)
		return looked{view, err}
	})
}

// open asks for the bucket that is open, if it is another one than before, or again.
func (l *live) open(again bool) tea.Cmd {
	b := l.screen.Opened()
	if b == nil {
		l.opened = top.Bucket{}
		return nil
	}
	asked := *b
	if l.opening || !again && asked == l.opened {
		return nil
	}
	l.opening, l.opened = true, asked
	return l.later(func(ctx context.Context) tea.Msg {
		in, err := l.inspect(ctx, asked)
		return inspected{asked, &in, err}
	})
}

// find asks for keys that are looked for, if they are others than before, or again.
func (l *live) find(again bool) tea.Cmd {
	s := l.screen.Searched()
	if s == nil {
		l.sought = top.Search{}
		return nil
	}
	asked := *s
	if l.searching || !again && asked == l.sought {
		return nil
	}
	l.searching, l.sought = true, asked
	return l.later(func(ctx context.Context) tea.Msg { return searched{l.search(ctx, asked)} })
}
