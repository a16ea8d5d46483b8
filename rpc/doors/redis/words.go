package redis

import "context"

// ping answers PING [message].
func ping(_ context.Context, s *session, args [][]byte) error {
	switch len(args) {
	case 1:
		s.out.status("PONG")
	case 2:
		s.out.bulk(args[1])
	default:
		return refuse("wrong number of arguments for 'ping' command")
	}
	return nil
}

// echo answers ECHO message.
func echo(_ context.Context, s *session, args [][]byte) error {
	s.out.bulk(args[1])
	return nil
}

// selectDB answers SELECT: there is one database.
func selectDB(_ context.Context, s *session, args [][]byte) error {
	n, err := integer("index", args[1])
	switch {
	case err != nil:
		return err
	case n != 0:
		return refuse("DB index is out of range: there is one database, 0")
	}
	s.out.status("OK")
	return nil
}

// transaction refuses MULTI and what belongs to it.
func transaction(_ context.Context, _ *session, args [][]byte) error {
	return refuse("'%s' is not supported: there are no transactions; checks of a pipeline are decided together, each by itself", lower(args[0]))
}
