package cli

import (
	"io"
	"log/slog"
)

// NewLogger writes logs from a level on, such as "info".
func NewLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo // the option takes only names that slog knows
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}
