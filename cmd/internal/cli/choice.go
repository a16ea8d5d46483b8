package cli

import (
	"fmt"
	"slices"
	"strings"
)

// A Choice is an option that takes one of a few values.
type Choice struct {
	Value   string
	choices []string
}

// NewChoice is a Choice of a value, which is the default, and others.
func NewChoice(value string, more ...string) *Choice {
	return &Choice{Value: value, choices: append([]string{value}, more...)}
}

// String, Set and Type are those of a [pflag.Value].
func (c *Choice) String() string { return c.Value }

// Set takes one of the choices and nothing else.
func (c *Choice) Set(value string) error {
	if slices.Contains(c.choices, value) {
		c.Value = value
		return nil
	}
	return fmt.Errorf("%q is not known: use %s", value, strings.Join(c.choices, " or "))
}

// Type names the choices in the help text.
func (c *Choice) Type() string { return strings.Join(c.choices, "|") }
