package redis

import (
	"context"
	"fmt"
)

// aboutClient answers CLIENT ID, GETNAME, SETNAME name, SETINFO attribute value, and INFO.
func aboutClient(_ context.Context, s *session, args [][]byte) error {
	switch what := lower(args[1]); {
	case what == "id" && len(args) == 2:
		s.out.number(s.id)
	case what == "getname" && len(args) == 2:
		if s.name == "" {
			s.out.null()
			return nil
		}
		s.out.text(s.name)
	case what == "setname" && len(args) == 3:
		if err := s.call(args[2]); err != nil {
			return err
		}
		s.out.status("OK")
	case what == "setinfo" && len(args) == 4:
		if attribute := lower(args[2]); attribute != "lib-name" && attribute != "lib-ver" {
			return refuse("Unrecognized option %s: it is CLIENT SETINFO lib-name|lib-ver value", quote(args[2]))
		}
		s.out.status("OK") // nothing shows it
	case what == "info" && len(args) == 2:
		proto := 2
		if s.out.resp3 {
			proto = 3
		}
		s.out.text(fmt.Sprintf("id=%d addr=%s name=%s db=0 resp=%d\n", s.id, s.from, s.name, proto))
	default:
		return badSubcommand("client", args[1])
	}
	return nil
}
