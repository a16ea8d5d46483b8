package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is how Redis names scripts
	"encoding/hex"

	"github.com/jeton-dev/jeton/internal/build"
)

// A script is one whose effect the door has, known by the SHA-1 of its text. The door runs no Lua.
type script struct {
	sha string // in hexadecimal
	// check says what a call checks. nil: run does it all.
	check func(s *session, key []byte, args [][]byte) (*check, error)
	run   func(ctx context.Context, s *session, name string, key []byte, args [][]byte) error
}

// scripts are all that are known.
func scripts() []script {
	return []script{
		// github.com/go-redis/redis_rate/v10 v10.0.1: Allow and AllowN; AllowAtMost.
		{sha: shaRateAllow, check: rateAllow},
		{sha: shaRateAllowAtMost, run: rateAllowAtMost},
		// github.com/traefik/traefik/v3 v3.7.13, pkg/middlewares/ratelimiter.
		{sha: shaTraefik, check: traefikAllow},
	}
}

// The digests of the scripts.
const (
	shaRateAllow       = "f52a5b566060d79fd321d695df55bc918339c4aa"
	shaRateAllowAtMost = "054143318f521948424aa25df61d7f7ba835a9d7"
	shaTraefik         = "3d93177e9b9a18f241edddc8d7e7fa1c47ae4eb6"
)

// scriptOf is the script with a digest, or nil.
func scriptOf(sha string) *script {
	for _, known := range scripts() {
		if known.sha == sha {
			return &known
		}
	}
	return nil
}

// shaOf is the digest of the text of a script.
func shaOf(text []byte) string {
	sum := sha1.Sum(text) //nolint:gosec // likewise
	return hex.EncodeToString(sum[:])
}

// called is the script that EVAL or EVALSHA names, or nil, with its key and arguments.
func called(args [][]byte) (known *script, key []byte, rest [][]byte, err error) {
	sha := lower(args[1])
	if lower(args[0]) == "eval" {
		sha = shaOf(args[1])
	}
	if known = scriptOf(sha); known == nil {
		return nil, nil, nil, nil
	}
	keys, err := integer("numkeys", args[2])
	switch {
	case err != nil:
		return nil, nil, nil, err
	case keys != 1 || len(args) < 4:
		return nil, nil, nil, refuse("numkeys: this script has 1 key, and the call says %d and has %d more arguments", keys, len(args)-3)
	}
	return known, args[3], args[4:], nil
}

// evalCheck reads EVAL text numkeys key args... and EVALSHA sha numkeys key args...
func evalCheck(s *session, args [][]byte) (*check, error) {
	known, key, rest, err := called(args)
	if err != nil || known == nil || known.check == nil {
		return nil, err
	}
	return known.check(s, key, rest)
}

// evalRun runs a script that takes more than one check, or refuses one that is not known.
func evalRun(ctx context.Context, s *session, args [][]byte) error {
	known, key, rest, err := called(args)
	name := lower(args[0])
	switch {
	case err != nil:
		return err
	case known != nil:
		return known.run(ctx, s, name, key, rest)
	case name == "evalsha":
		return refusal("NOSCRIPT No matching script. jeton runs no Lua, and knows some scripts by their SHA-1: see " + build.Page("from-redis.md"))
	}
	return unknownScript(args[1])
}

// unknownScript refuses the text of a script.
func unknownScript(text []byte) error {
	return refuse("unknown script with the SHA-1 %s: jeton runs no Lua, and knows some scripts by their SHA-1: use CL.THROTTLE or JETON.CHECK, and see %s", shaOf(text), build.Page("from-redis.md"))
}

// manageScripts answers SCRIPT LOAD text and SCRIPT EXISTS sha...
func manageScripts(_ context.Context, s *session, args [][]byte) error {
	switch what := lower(args[1]); {
	case what == "load" && len(args) == 3:
		sha := shaOf(args[2])
		if scriptOf(sha) == nil {
			return unknownScript(args[2])
		}
		s.out.text(sha)
	case what == "exists" && len(args) > 2:
		s.out.array(len(args) - 2)
		for _, sha := range args[2:] {
			there := int64(0)
			if scriptOf(lower(sha)) != nil {
				there = 1
			}
			s.out.number(there)
		}
	default:
		return badSubcommand("script", args[1])
	}
	return nil
}
