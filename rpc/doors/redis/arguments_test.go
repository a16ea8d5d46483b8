package redis

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Every argument that is wrong is named.
func TestBadArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := document(t)
		dial, stop := inBubble(t, Config{Limits: func() *limit.Document { return doc }})
		c := newTalk(t, dial())
		for line, want := range map[string]string{
			"CL.THROTTLE k 1 1":                        "wrong number of arguments for 'cl.throttle' command",
			"CL.THROTTLE k 1 1 1 1 1":                  "wrong number of arguments for 'cl.throttle' command",
			"CL.THROTTLE k -1 1 1":                     "max_burst: -1 is too small: at least 0",
			"CL.THROTTLE k 1.5 1 1":                    `max_burst: "1.5" is not an integer of 64 bits`,
			"CL.THROTTLE k 9223372036854775808 1 1":    "max_burst: \"9223372036854775808\" is not an integer",
			"CL.THROTTLE k 9223372036854775807 1 1":    "max_burst: 9223372036854775807 is too large",
			"CL.THROTTLE k 9223372036854775806 1 1":    "max_burst: ",
			"CL.THROTTLE k 1 0 1":                      "count: 0 is too small",
			"CL.THROTTLE k 1 -5 1":                     "count: -5 is too small",
			"CL.THROTTLE k 1 x 1":                      `count: "x" is not an integer`,
			"CL.THROTTLE k 1 1 0":                      "period: 0 is too small",
			"CL.THROTTLE k 1 1 9223372036":             "max_burst: at this refill",
			"CL.THROTTLE k 1 1 9223372037":             "period: 9223372037 seconds are too long",
			"CL.THROTTLE k 1 1 9223372036854775807":    "period: 9223372036854775807 seconds are too long",
			"CL.THROTTLE k 1 1000000001 1":             "count per period: ",
			"CL.THROTTLE k 1 9223372036854775807 1":    "count per period: ",
			"CL.THROTTLE k 1 1 1 -1":                   "quantity: -1 is too small",
			"CL.THROTTLE k 1 1 1 99999999999999999999": "quantity: ",
			"JETON.CHECK k":                            "wrong number of arguments for 'jeton.check' command",
			"JETON.CHECK k login 1 1":                  "wrong number of arguments for 'jeton.check' command",
			"JETON.CHECK k login -1":                   "cost: -1 is too small",
			"JETON.CHECK k login x":                    `cost: "x" is not an integer`,
			"JETON.CHECK k logn":                       `unknown limit "logn": perhaps "login" is meant`,
			"JETON.CHECK k zzzzzzzz":                   `unknown limit "zzzzzzzz": an operator stores limits`,
			"JETON.CHECK k " + strings.Repeat("n", 65): "limit: 65 bytes are too many",
			"JETON.CHECK k !":                          `limit: "!" is not a valid name`,
			"SELECT x":                                 `index: "x" is not an integer`,
			"AUTH a":                                   "AUTH: this door needs no token",
			"AUTH a b c":                               "syntax error",
			"HELLO 3 AUTH a":                           `Syntax error in HELLO option "AUTH"`,
			"HELLO 3 NOSUCH":                           `Syntax error in HELLO option "NOSUCH"`,
			"HELLO x":                                  "version of the protocol: ",
			"CLIENT NOSUCH":                            "unknown subcommand or wrong number of arguments for 'client|nosuch'",
			"CLIENT SETINFO x y":                       `Unrecognized option "x"`,
			"CLIENT SETNAME \xff":                      "Client names cannot contain",
			"COMMAND NOSUCH":                           "unknown subcommand or wrong number of arguments for 'command|nosuch'",
			"SCRIPT FLUSH":                             "unknown subcommand or wrong number of arguments for 'script|flush'",
			"EXISTS " + strings.Repeat("k ", 101):      "101 keys are too many",
			"PING 1 2":                                 "wrong number of arguments for 'ping' command",
			"ECHO":                                     "wrong number of arguments for 'echo' command",
			"MULTI":                                    "'multi' is not supported",
			"WATCH k":                                  "'watch' is not supported",
			"NOSUCH a\nb " + strings.Repeat("c", 300):  "unknown command 'NOSUCH', with args beginning with: 'a' 'b' 'ccc",
			strings.Repeat("N", 300):                   "unknown command 'NNN",
		} {
			if got := c.ask(line); !strings.HasPrefix(got, "-ERR "+want) || len(got) > 600 {
				t.Errorf("%.80s: %s, want %s", line, got, want)
			}
		}
		if got := c.ask("HELLO 4"); !strings.HasPrefix(got, "-NOPROTO ") {
			t.Error(got)
		}
		c.want("PING", "PONG") // the connection goes on
		c.close()
		stop()
	})
}

func FuzzArguments(f *testing.F) {
	for _, line := range []string{
		"k 1 1 1", "k 9223372036854775806 1 1 9223372036854775807", "k 0 9223372036854775807 9223372036", "k -1 1 1", "k 15 30 60 0",
		"k 1 2 1.5 3", "k 1 1 1e300 1", "k 0.001 5 2 1 500", "k 1e-300 1 1 1 1", "k 5e-324 1 1 1 30000000",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := [][]byte{[]byte("name")}
		for word := range strings.SplitSeq(line, " ") {
			args = append(args, []byte(word))
		}
		if len(args) < 5 {
			return
		}
		for what, read := range map[string]func() (*check, error){
			"throttle": func() (*check, error) { return throttle(new(session), args) },
			"stored":   func() (*check, error) { return storedCheck(new(session), args[:4]) },
			"rate":     func() (*check, error) { return rateAllow(new(session), args[1], args[2:]) },
			"traefik":  func() (*check, error) { return traefikAllow(new(session), args[1], args[2:]) },
		} {
			c, err := read()
			if (c == nil) == (err == nil) {
				t.Fatalf("%s %q: %v, %v", what, line, c, err)
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), "ERR ") {
					t.Errorf("%s %q: %v", what, line, err)
				}
				continue
			}
			if strings.HasPrefix(c.request.Key, "name") && c.request.Key != line {
				continue
			}
			if err := limit.ValidateKey(c.request.Key); err != nil {
				t.Errorf("%s %q: %v", what, line, err)
			}
			_ = c.request.Validate() // whatever it says, it must not panic
			r := reply{}
			c.answer(&r, &limit.Decision{Limits: []limit.Outcome{{Limit: 1, RetryAfter: 1<<63 - 1, ResetAfter: 1<<63 - 1}}})
			if len(r.bytes) == 0 {
				t.Errorf("%s %q: no answer", what, line)
			}
		}
	})
}

func TestLuaNumbers(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", -1: "-1", 1: "1", 100: "100", 3600: "3600", 0.5: "0.5", 1.0 / 3: "0.33333333333333", 1e14: "1e+14", 12345678901234: "12345678901234",
		1e-5: "1e-05", 1.5e-7: "1.5e-07", 0.0001: "0.0001", 2.0000000000000004: "2",
	} {
		if got := luaNumber(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}

func TestRoundsAsRedisCell(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 0, time.Millisecond - 1: 0, time.Millisecond: 1, time.Second: 1, time.Second + time.Millisecond - 1: 1, time.Second + time.Millisecond: 2,
		1900 * time.Millisecond: 2, 1<<63 - 1: 9223372037,
	} {
		if got := cellSeconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
}
