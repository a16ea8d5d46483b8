package redis

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// A frame is what a client sends at once, and what it must hear to go on.
type frame struct{ sends, hears string }

// redisPy are the frames of redis-py 8.1.0 with a client_name, as they were recorded. It gives up where HELLO fails, and goes on where there
// is no CLIENT MAINT_NOTIFICATIONS.
func redisPy(key string) []frame {
	throttle := words("CL.THROTTLE", key, "2", "1", "3600")
	return []frame{
		{
			words("HELLO", "3"),
			"%7\r\n$6\r\nserver\r\n$5\r\njeton\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:ID\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n",
		},
		{words("CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "internal-ip"), "-ERR unknown subcommand or wrong number of arguments for 'client|maint_notifications'\r\n"},
		{words("CLIENT", "SETNAME", "story"), "+OK\r\n"},
		{words("CLIENT", "SETINFO", "LIB-NAME", "redis-py"), "+OK\r\n"},
		{words("CLIENT", "SETINFO", "LIB-VER", "8.1.0"), "+OK\r\n"},
		{throttle, "*5\r\n:0\r\n:3\r\n:2\r\n:-1\r\n:3600\r\n"},
		{throttle + words("JETON.CHECK", key, "slow"), "*5\r\n:0\r\n:3\r\n:1\r\n:-1\r\n:7200\r\n*5\r\n:1\r\n:2\r\n:1\r\n:0\r\n:3600000\r\n"},
		{
			words("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "1", key),
			"-NOSCRIPT No matching script. jeton runs no Lua, and knows some scripts by their SHA-1: see https://github.com/jeton-dev/jeton/blob/main/docs/from-redis.md\r\n",
		},
	}
}

// What redis-py 8 sends is answered byte for byte so that it goes on. Its package is not to be had everywhere: the frames were recorded.
func TestRedisPyConnects(t *testing.T) {
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", serve(t, Config{Limiter: newNode(t)}))
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk(t, c)
	defer k.close()
	for i, f := range redisPy("py") {
		k.send(f.sends)
		k.hearBytes(fmt.Sprintf("frame %d, %q", i, f.sends), f.hears)
	}
}

// With a password, redis-py shows it with HELLO, as the user default.
func TestRedisPyWithAToken(t *testing.T) {
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", serve(t, Config{Limiter: newNode(t), Token: isSecret}))
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk(t, c)
	defer k.close()
	frames := redisPy("py")
	frames[0].sends = words("HELLO", "3", "AUTH", "default", secret)
	for i, f := range frames {
		k.send(f.sends)
		k.hearBytes(fmt.Sprintf("frame %d, %q", i, f.sends), f.hears)
	}
}

// hearBytes reads as many lines as want has, and compares. The line ":ID" stands for any number.
func (c *talk) hearBytes(what, want string) {
	c.Helper()
	for line := range strings.Lines(want) {
		got, err := c.in.ReadString('\n')
		if err != nil {
			c.Fatalf("%s: %v", what, err)
		}
		if id := line == ":ID\r\n" && strings.HasPrefix(got, ":"); atOnce(got) != line && !id {
			c.Fatalf("%s: is answered %q, want %q", what, got, line)
		}
	}
}
