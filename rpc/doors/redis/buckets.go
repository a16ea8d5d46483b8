package redis

import (
	"context"
	"errors"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// maxKeys is how many keys one command may have that looks at buckets.
const maxKeys = 100

// seen is a bucket of a limit that clients define.
type seen struct {
	ref  limit.Ref
	full time.Duration // until it is full; 0: it is, or there is none
}

// look looks at a bucket. By what numbers it is, its owner knows, as long as it has it in memory. If not, it is shown, and filled, as one of a limit
// that fills as slowly as may be, so that all that was reserved under any numbers lies within its reach.
func (s *shared) look(ctx context.Context, key, name string) (seen, error) {
	in, err := s.cfg.Limiter.Inspect(ctx, key, limit.Named(name), "")
	if errors.Is(err, limit.ErrUnknownLimit) {
		in, err = s.cfg.Limiter.Inspect(ctx, key, bucket(name, 1, 1, s.cfg.InlineFill), "")
	}
	if err != nil {
		return seen{}, cannotLook(err)
	}
	return seen{ref: limit.Inline(in.Rule.Limit), full: max(time.Duration(in.TAT-in.Credit-in.Now), 0)}, nil
}

// cannotLook is the answer to a command that could not look at a bucket, or not fill it.
func cannotLook(err error) error {
	if _, bad := errors.AsType[*limit.FieldError](err); bad {
		return refuse("%s", err)
	}
	return unavailable(err)
}

// lookAll is until when all buckets of a key are full.
func (s *shared) lookAll(ctx context.Context, key []byte) (full time.Duration, err error) {
	for _, name := range inlineNames() {
		b, err := s.look(ctx, keyOf(key), name)
		if err != nil {
			return 0, err
		}
		full = max(full, b.full)
	}
	return full, nil
}

// fillAll fills all buckets of a key, and says whether one was not full.
func (s *shared) fillAll(ctx context.Context, key []byte) (was bool, err error) {
	for _, name := range inlineNames() {
		b, err := s.look(ctx, keyOf(key), name)
		switch {
		case err != nil:
			return false, err
		case b.full == 0:
			continue
		}
		if err := s.cfg.Limiter.Reset(ctx, keyOf(key), b.ref); err != nil {
			return false, cannotLook(err)
		}
		was = true
	}
	return was, nil
}

// count answers how many of the keys satisfy is.
func (s *session) count(ctx context.Context, keys [][]byte, is func(context.Context, []byte) (bool, error)) error {
	if len(keys) > maxKeys {
		return refuse("%d keys are too many: at most %d in one command", len(keys), maxKeys)
	}
	ctx, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	n := int64(0)
	for _, key := range keys {
		yes, err := is(ctx, key)
		if err != nil {
			return err
		}
		if yes {
			n++
		}
	}
	s.out.number(n)
	return nil
}

// del answers DEL key..., which fills buckets.
func del(ctx context.Context, s *session, args [][]byte) error {
	if s.cfg.Token == nil {
		return refuse("DEL fills buckets, and any client could: have an operator configure tokens for this door, and send one with AUTH")
	}
	return s.count(ctx, args[1:], s.fillAll)
}

// exists answers EXISTS key...: a key exists as long as one of its buckets is not full.
func exists(ctx context.Context, s *session, args [][]byte) error {
	return s.count(ctx, args[1:], func(ctx context.Context, key []byte) (bool, error) {
		full, err := s.lookAll(ctx, key)
		return full > 0, err
	})
}

// ttl answers TTL key and PTTL key: when all its buckets are full, in seconds or milliseconds; -2 if they are.
func ttl(ctx context.Context, s *session, args [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	full, err := s.lookAll(ctx, args[1])
	switch {
	case err != nil:
		return err
	case full == 0:
		s.out.number(-2)
	case lower(args[0]) == "pttl":
		s.out.number(milliseconds(full))
	default:
		s.out.number(int64(full.Round(time.Second) / time.Second)) // as Redis rounds
	}
	return nil
}
