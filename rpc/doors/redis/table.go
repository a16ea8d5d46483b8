package redis

// table is every command. Its names are labels of metrics.
func table() []*command {
	fast := []string{"fast"}
	write := []string{"write", "denyoom", "fast"}
	read := []string{"readonly"}
	early := []string{"noscript", "loading", "stale", "fast", "no_auth"}
	script := []string{"noscript", "movablekeys"}
	one, several := [3]int{1, 1, 1}, [3]int{1, -1, 1}
	all := []*command{
		{name: "cl.throttle", arity: -5, flags: write, keys: one, check: throttle, summary: "CL.THROTTLE key max_burst count period [quantity]: checks a token bucket, as redis-cell does."},
		{name: "jeton.check", arity: -3, flags: write, keys: one, check: storedCheck, summary: "JETON.CHECK key limit [cost]: checks a stored limit. The answer: 1 if allowed, limit, remaining, retry after and reset after in milliseconds."},
		{name: "eval", arity: -3, flags: script, check: evalCheck, run: evalRun, summary: "Has the effect of a script that is known."},
		{name: "evalsha", arity: -3, flags: script, check: evalCheck, run: evalRun, summary: "Has the effect of a script that is known, by its SHA-1."},
		{name: "script", arity: -2, flags: []string{"noscript"}, run: manageScripts, summary: "SCRIPT LOAD text, SCRIPT EXISTS sha...: says which scripts are known."},
		{name: "del", arity: -2, flags: []string{"write"}, keys: several, run: del, summary: "Fills the buckets of keys."},
		{name: "exists", arity: -2, flags: read, keys: several, run: exists, summary: "Counts the keys of which a bucket is not full."},
		{name: "ttl", arity: 2, flags: read, keys: one, run: ttl, summary: "Says in how many seconds the buckets of a key are full; -2 if they are."},
		{name: "pttl", arity: 2, flags: read, keys: one, run: ttl, summary: "Says in how many milliseconds the buckets of a key are full; -2 if they are."},
		{name: "hello", arity: -1, flags: early, early: true, run: hello, summary: "HELLO [2|3 [AUTH user token] [SETNAME name]]: chooses the version of the protocol."},
		{name: "auth", arity: -2, flags: early, early: true, run: auth, summary: "AUTH [user] token: shows a token."},
		{name: "quit", arity: -1, flags: early, early: true, run: quit, summary: "Closes the connection."},
		{name: "reset", arity: 1, flags: early, early: true, run: reset, summary: "Makes the connection as new."},
		{name: "ping", arity: -1, flags: fast, run: ping, summary: "Answers."},
		{name: "echo", arity: 2, flags: fast, run: echo, summary: "Answers its argument."},
		{name: "select", arity: 2, flags: fast, run: selectDB, summary: "Chooses the database, 0."},
		{name: "client", arity: -2, flags: []string{"noscript"}, run: aboutClient, summary: "CLIENT ID, GETNAME, SETNAME, SETINFO, INFO: about the connection."},
		{name: "command", arity: -1, flags: []string{"loading", "stale"}, run: describe, summary: "COMMAND [COUNT|LIST|INFO|DOCS]: describes commands."},
		{name: "info", arity: -1, flags: []string{"loading", "stale"}, run: info, summary: "Describes the server."},
	}
	for _, name := range []string{"multi", "exec", "discard", "watch", "unwatch"} {
		all = append(all, &command{name: name, arity: -1, flags: fast, run: transaction, summary: "Is refused: there are no transactions."})
	}
	return all
}
