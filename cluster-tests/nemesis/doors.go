package nemesis

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/doorcalls"
)

const (
	// ruled is the limit that only rules of the rate limit service define. The document has one of that name too, for the judges: it is never asked.
	ruled = "ruled"
	rules = "domain: " + doorcalls.Domain + "\ndescriptors: [{key: " + ruled + ", rate_limit: {unit: second, requests_per_unit: 2}}]\n"
	// redisToken is what clients of Redis show in a network, where nodes ask for one.
	redisToken = "the-token-of-clients-of-redis"
)

// redisTokenFile is the file with redisToken.
func (s *Stage) redisTokenFile() string { return filepath.Join(s.folder, "redis-token") }

// doors are the arguments of every node that open its doors, but for what is a node's own.
func (s *Stage) doors() ([]string, error) {
	folder := filepath.Join(s.folder, "rules")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	for file, text := range map[string]string{filepath.Join(folder, "rules.yaml"): rules, s.redisTokenFile(): redisToken + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"--doors", "rls", "--rls-config", folder}, nil
}

// atDoors makes callers that ask the doors of the nodes that founded the cluster: one by the protocol of Redis, for any limit of which others
// ask for one token, and one as Envoy does.
func (s *Stage) atDoors(cfg Config) error {
	redis, rls := &inTurn{}, &inTurn{}
	for _, m := range s.cluster.Members {
		asks, err := doorcalls.NewRLS(m.GRPC, s.dialOf(cfg, throughRLS))
		if err != nil {
			return err
		}
		rls.nodes = append(rls.nodes, asks)
		client := doorcalls.NewRedis(m.Redis, redisToken, s.dialOf(cfg, throughRedis))
		redis.nodes = append(redis.nodes, client)
		s.idle = append(s.idle, func() {
			client.Close() //nolint:errcheck // nothing is asked any more
			asks.Close()   //nolint:errcheck // nothing is asked any more
		})
	}
	s.traffic.callers = append(s.traffic.callers,
		caller{name: throughRedis, Checker: redis, plain: true, through: throughRedis}, caller{name: throughRLS, Checker: rls, plain: true, through: throughRLS})
	if cfg.Lab != nil {
		s.callerHosts = append(s.callerHosts, throughRedis, throughRLS)
	}
	return nil
}

// dialOf is how a host of callers dials; nil on loopback.
func (s *Stage) dialOf(cfg Config, name string) doorcalls.Dial {
	if cfg.Lab == nil {
		return nil
	}
	return cfg.Lab.Dial(name)
}

// inTurn asks one node after the other, each check one node. A node that is down fails it.
type inTurn struct {
	nodes []limit.Checker
	turn  atomic.Int64
}

// Check implements limit.Checker.
func (i *inTurn) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	return i.nodes[int(i.turn.Add(1))%len(i.nodes)].Check(ctx, r)
}
