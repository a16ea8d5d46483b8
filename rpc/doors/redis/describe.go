package redis

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// describe answers COMMAND, and its subcommands COUNT, LIST, INFO [name...] and DOCS [name...].
func describe(_ context.Context, s *session, args [][]byte) error {
	if len(args) == 1 {
		s.describeAll(s.names)
		return nil
	}
	names := make([]string, 0, len(args)-2)
	for _, name := range args[2:] {
		names = append(names, lower(name))
	}
	switch what := lower(args[1]); {
	case what == "count" && len(args) == 2:
		s.out.number(int64(len(s.names)))
	case what == "list" && len(args) == 2:
		s.out.array(len(s.names))
		for _, name := range s.names {
			s.out.text(name)
		}
	case what == "info":
		if len(names) == 0 {
			names = s.names
		}
		s.describeAll(names)
	case what == "docs":
		if len(names) == 0 {
			names = s.names
		}
		s.document(names)
	default:
		return badSubcommand("command", args[1])
	}
	return nil
}

// describeAll writes an entry for each of the commands, and null for one that is not known.
func (s *session) describeAll(names []string) {
	r := &s.out
	r.array(len(names))
	for _, name := range names {
		c := s.commands[name]
		if c == nil {
			r.nullArray()
			continue
		}
		r.array(10)
		r.text(c.name)
		r.number(int64(c.arity))
		r.array(len(c.flags))
		for _, flag := range c.flags {
			r.status(flag)
		}
		for _, at := range c.keys {
			r.number(int64(at))
		}
		for range 4 { // categories, tips, key specifications, subcommands
			r.array(0)
		}
	}
}

// document writes what the commands are for; those that are not known are left out.
func (s *session) document(names []string) {
	var known []*command
	for _, name := range names {
		if c := s.commands[name]; c != nil {
			known = append(known, c)
		}
	}
	r := &s.out
	r.pairs(len(known))
	for _, c := range known {
		r.text(c.name)
		r.pairs(2)
		r.text("summary")
		r.text(c.summary)
		r.text("group")
		r.text("generic")
	}
}

// info answers INFO, whatever sections are asked for.
func info(_ context.Context, s *session, _ [][]byte) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Server\r\nredis_version:%s\r\nserver_name:%s\r\nredis_mode:standalone\r\nuptime_in_seconds:%d\r\n\r\n",
		redisVersion, serverName, int64(time.Since(s.started)/time.Second))
	fmt.Fprintf(&b, "# Clients\r\nconnected_clients:%d\r\n\r\n", s.open.Load())
	b.WriteString("# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n")
	s.out.text(b.String())
	return nil
}
