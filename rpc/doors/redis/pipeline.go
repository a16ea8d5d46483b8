package redis

import (
	"context"
	"fmt"
	"strings"
)

// handle answers one command, or puts its check to those that wait: these are decided together once a command comes that is none, or as many
// wait as may be decided at once.
func (s *session) handle(ctx context.Context, args [][]byte) {
	c := s.command(args[0])
	if c == nil {
		s.decideAll(ctx)
		s.refuse("other", s.unknownCommand(args))
		return
	}
	err := s.mayCall(c, args)
	if err == nil && c.check != nil {
		var asked *check
		if asked, err = c.check(s, args); asked != nil {
			s.waiting = append(s.waiting, waiting{check: asked, command: c})
			if all := s.waits.Add(1); len(s.waiting) == maxTogether || len(s.waiting) >= fewTogether && all > maxWaiting {
				s.decideAll(ctx)
			}
			return
		}
	}
	s.decideAll(ctx)
	if err == nil {
		if c.run == nil {
			return
		}
		err = c.run(ctx, s, args)
	}
	if err != nil {
		s.refuse(c.name, err)
		return
	}
	c.answered.Inc()
}

// command is the one with that name, or nil.
func (s *session) command(name []byte) *command {
	var lowered [32]byte // as long as no name is
	if len(name) > len(lowered) {
		return nil
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lowered[i] = c
	}
	return s.commands[string(lowered[:len(name)])]
}

// mayCall says what is wrong with the number of arguments of a command, or that it is not for clients that have shown no token.
func (s *session) mayCall(c *command, args [][]byte) error {
	switch {
	case !s.authed && !c.early:
		return refusal("NOAUTH Authentication required.")
	case c.arity > 0 && len(args) != c.arity, len(args) < -c.arity:
		return refuse("wrong number of arguments for '%s' command", c.name)
	}
	return nil
}

// unknownCommand is the answer to a command that is not known, as Redis words it: clients look for that.
func (s *session) unknownCommand(args [][]byte) error {
	if !s.authed {
		return refusal("NOAUTH Authentication required.")
	}
	const most = 128
	var shown strings.Builder
	for _, arg := range args[1:] {
		if shown.Len() >= most {
			break
		}
		fmt.Fprintf(&shown, "'%s' ", arg[:min(len(arg), most-shown.Len())])
	}
	return refuse("unknown command '%s', with args beginning with: %s", args[0][:min(len(args[0]), most)], shown.String())
}
