package manual

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// What the language of man would take for a command, or would fill, is shown as it was written.
func TestPage(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "A tool", Run: func(*cobra.Command, []string) {}, Long: "One\n.dot \\back\n\n'tick\n\n  as typed\n  a-b", Example: "  tool do\n  .tool"}
	root.Flags().StringP("into", "i", "here", "the `folder`")
	root.Flags().Bool("secret", false, "not shown")
	_ = root.Flags().MarkHidden("secret")
	below := &cobra.Command{Use: "do THING", Short: "Do a thing", Run: root.Run}
	root.AddCommand(below, &cobra.Command{Use: "hidden", Hidden: true, Run: root.Run})

	pages := Pages(root, "tool v1", time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC))
	if len(pages) != 2 || pages[0].Name != "tool.1" || pages[1].Name != "tool-do.1" {
		t.Fatalf("%+v", pages)
	}
	text := pages[0].Text
	for _, want := range []string{
		`.TH "TOOL" 1 "2026-11-28" "tool v1" "Manual of tool"` + "\n", "\ntool \\- A tool\n", "One\n\\&.dot \\eback\n.PP\n\\&'tick\n.PP\n.nf\n  as typed\n  a\\-b\n.fi\n",
		".TP\n.B \\-i, \\-\\-into folder\nthe folder (default here)\n", ".SH EXAMPLES\n.nf\n  tool do\n  .tool\n.fi\n", ".SH SEE ALSO\n.BR tool\\-do (1)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "not shown") || !strings.Contains(pages[1].Text, "Do a thing.\n") || !strings.Contains(pages[1].Text, ".BR tool (1)\n") {
		t.Errorf("%s\n%s", text, pages[1].Text)
	}
}
