package redis

import "context"

const (
	// redisVersion is that of Redis whose protocol the door speaks, by which clients decide what they may send.
	redisVersion = "7.4.0"
	serverName   = "jeton"
)

// hello answers HELLO [2|3 [AUTH user token] [SETNAME name]].
func hello(_ context.Context, s *session, args [][]byte) error {
	resp3 := s.out.resp3
	rest := args[1:]
	if len(rest) > 0 {
		version, err := integer("version of the protocol", rest[0])
		if err != nil {
			return err
		}
		if version != 2 && version != 3 {
			return refusal("NOPROTO unsupported protocol version: use 2 or 3")
		}
		resp3, rest = version == 3, rest[1:]
	}
	for len(rest) > 0 {
		switch option := lower(rest[0]); {
		case option == "auth" && len(rest) >= 3:
			if err := s.shows(rest[2]); err != nil {
				return err
			}
			rest = rest[3:]
		case option == "setname" && len(rest) >= 2:
			if err := s.call(rest[1]); err != nil {
				return err
			}
			rest = rest[2:]
		default:
			return refuse("Syntax error in HELLO option %s: it is HELLO [2|3 [AUTH user token] [SETNAME name]]", quote(rest[0]))
		}
	}
	if !s.authed {
		return refusal("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> " +
			"option can be used to authenticate the client and select the RESP protocol version at the same time")
	}
	s.out.resp3 = resp3
	s.greet()
	return nil
}

// greet writes what the server is.
func (s *session) greet() {
	proto := int64(2)
	if s.out.resp3 {
		proto = 3
	}
	r := &s.out
	r.pairs(7)
	r.text("server")
	r.text(serverName)
	r.text("version")
	r.text(redisVersion)
	r.text("proto")
	r.number(proto)
	r.text("id")
	r.number(s.id)
	r.text("mode")
	r.text("standalone")
	r.text("role")
	r.text("master")
	r.text("modules")
	r.array(0)
}

// auth answers AUTH [user] token.
func auth(_ context.Context, s *session, args [][]byte) error {
	if len(args) > 3 {
		return refuse("syntax error: it is AUTH [user] token")
	}
	if err := s.shows(args[len(args)-1]); err != nil {
		return err
	}
	s.out.status("OK")
	return nil
}

// reset answers RESET: the connection is as new.
func reset(_ context.Context, s *session, _ [][]byte) error {
	s.init()
	s.out.status("RESET")
	return nil
}

// quit answers QUIT, after which the connection closes.
func quit(_ context.Context, s *session, _ [][]byte) error {
	s.ended = true
	s.out.status("OK")
	return nil
}
