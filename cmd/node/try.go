package node

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Try says for which reason Open would refuse a configuration, as far as that can be told without listening, and without opening the data
// directory: what Config.Check finds, the files with keys, certificates and tokens, and addresses that need a proof of callers, or a host to
// advertise. It does not read the limits.
func Try(cfg Config) error {
	n := parts{cfg: cfg, metrics: prometheus.NewRegistry()}
	if err := n.cfg.setDefaults(); err != nil {
		return err
	}
	if err := n.secrets.read(&n.cfg, n.metrics); err != nil {
		return err
	}
	for _, l := range n.cfg.listens() {
		if l.address == "" {
			continue
		}
		if err := n.checkListen(l.option, l.address); err != nil {
			return fmt.Errorf("%s: %w", l.option, err)
		}
		if advertised := l.option == grpcOption || l.option == httpOption; advertised && !n.cfg.alone() {
			if err := n.cfg.checkAdvertised(l.address); err != nil {
				return err
			}
		}
	}
	return n.cfg.checkAlone()
}
