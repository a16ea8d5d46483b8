package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"github.com/jeton-dev/jeton/cmd/jeton/top"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// A monitor is a terminal with a screen that tests read, and keys that they press.
type monitor struct {
	keys *os.File // the end of the person
	tty  *os.File // the end of the program

	mu       sync.Mutex
	emulator *vt.Emulator
	raw      strings.Builder // all that the program has written
	changed  chan struct{}   // closed with each change
}

// aMonitor is a terminal of a size.
func aMonitor(t *testing.T, width, height int) *monitor {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	m := &monitor{keys: keys, tty: tty, emulator: vt.NewEmulator(width, height), changed: make(chan struct{})}
	m.size(t, width, height)
	var running sync.WaitGroup
	running.Go(func() { // what the terminal answers to questions of the program
		_, _ = io.Copy(keys, m.emulator)
	})
	running.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := keys.Read(buf)
			if err != nil {
				return // the program's end is closed
			}
			m.mu.Lock()
			m.raw.Write(buf[:n])
			_, _ = m.emulator.Write(buf[:n])
			close(m.changed)
			m.changed = make(chan struct{})
			m.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = tty.Close()
		if answers, closes := m.emulator.InputPipe().(io.Closer); closes {
			_ = answers.Close()
		}
		running.Wait()
		_ = keys.Close()
	})
	return m
}

// size says how large the terminal is.
func (m *monitor) size(t *testing.T, width, height int) {
	t.Helper()
	if err := pty.Setsize(m.keys, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		t.Fatal(err)
	}
}

// resize makes the terminal larger or smaller while a program runs in it.
func (m *monitor) resize(t *testing.T, width, height int) {
	t.Helper()
	m.size(t, width, height)
	m.mu.Lock()
	m.emulator.Resize(width, height)
	m.mu.Unlock()
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
}

// press writes what keys send.
func (m *monitor) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := m.keys.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// text is the screen, without space at the end of its lines.
func (m *monitor) text() (text string, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for y := range m.emulator.Height() {
		var line strings.Builder
		for x := range m.emulator.Width() {
			if cell := m.emulator.CellAt(x, y); cell != nil {
				line.WriteString(cell.Content)
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return strings.Join(lines, "\n") + "\n", m.changed
}

// alternate says whether the program has the screen for itself.
func (m *monitor) alternate() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.emulator.IsAltScreen()
}

// patience is how long a screen may take on a machine that is busy.
const patience = time.Minute

// wait waits until the screen is as it is to be.
func (m *monitor) wait(t *testing.T, what string, is func(screen string) bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		screen, changed := m.text()
		if is(screen) {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("the screen does not show %s:\n%s", what, screen)
		}
	}
}

// shows waits for texts on the screen.
func (m *monitor) shows(t *testing.T, texts ...string) {
	t.Helper()
	m.wait(t, fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// aSampleScreen is the screen of the tests of package top: what it draws is in testdata there.
func aSampleScreen(t *testing.T) (*top.Screen, time.Time) {
	t.Helper()
	text, err := os.ReadFile("top/testdata/view.json")
	if err != nil {
		t.Fatal(err)
	}
	var last *activity.View
	if err := json.Unmarshal(text, &last); err != nil {
		t.Fatal(err)
	}
	screen := top.New(top.Config{Options: top.Options{By: top.Limits, Sort: top.Traffic}, Every: time.Second})
	for i := range 40 {
		v := *last
		if i < 39 {
			v.Total.Allowed = float64(100 * (i % 17))
		}
		screen.Show(&v, last.At.Add(time.Duration(i)*time.Second))
	}
	return screen, last.At.Add(39 * time.Second)
}

// A terminal shows what the screen draws: keys are understood, frames follow one another without rests of those before, and the terminal
// is left as it was.
func TestScreenInATerminal(t *testing.T) {
	const esc, down, enter = "\x1b", "\x1b[B", "\r"
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			m := aMonitor(t, size.width, size.height)
			screen, now := aSampleScreen(t)
			ended := make(chan error, 1)
			go func() {
				ended <- watch(t.Context(), m.tty, &live{
					screen: screen, every: time.Hour, now: func() time.Time { return now },
					next:   func(context.Context) (*activity.View, error) { return nil, nil },
					search: func(_ context.Context, s top.Search) *top.Found { return &top.Found{Search: s, Complete: true} },
				})
			}()
			for _, step := range []struct{ keys, frame string }{
				{"", "limits"},
				{"d", "denials"},
				{"t", "limits"},
				{down + down + down, "down"},
				{"n", "nodes"},
				{down + down + enter, "node-silent"},
				{esc, "[nodes]"},
				{"g", "gateways"},
				{enter, "gateway"},
				{"k", "keys"},
				{"?", "help"},
				{"x", "keys"},
				{"p", "problems"},
				{"l", "[limits]"},
				{"/limit-1", "filter"},
				{esc, "limits"},
				{enter, "limit"},
			} {
				m.press(t, step.keys)
				if strings.HasPrefix(step.frame, "[") {
					m.shows(t, step.frame)
					continue
				}
				want, err := os.ReadFile(filepath.Join("top", "testdata", fmt.Sprintf("%s-%dx%d.txt", step.frame, size.width, size.height)))
				if err != nil {
					t.Fatal(err)
				}
				m.wait(t, step.frame+", as in\n"+string(want), func(screen string) bool { return screen == string(want) })
			}
			m.press(t, "q")
			if err := <-ended; err != nil {
				t.Error(err)
			}
			m.wait(t, "the terminal as it was", func(string) bool { return !m.alternate() })
		})
	}
}
