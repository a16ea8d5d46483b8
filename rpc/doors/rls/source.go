package rls

import (
	"slices"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// openSource notes that nothing has come yet.
func (d *Door) openSource() error {
	says := "no configuration has come from " + d.cfg.Source.Name() + " yet"
	d.mistake.Store(&says)
	return nil
}

// take puts a configuration of the source in force, or says what is wrong with it.
func (d *Door) take(resources []descriptors.Resource) error {
	domains, problems := descriptors.Take(resources, d.cfg.Merge)
	err := d.adopt(domains, problems)
	if err != nil {
		d.metrics.configurationLeft.Inc()
		d.metrics.refused.Set(1)
		says := err.Error()
		d.mistake.Store(&says)
		d.cfg.Logger.Error("new rules of Envoy's rate limit service are refused, and those before stay in force", "from", d.cfg.Source.Name(), "error", err)
		return err
	}
	d.mistake.Store(nil)
	d.metrics.configurationTaken.Inc()
	d.metrics.refused.Set(0)
	d.cfg.Logger.Info("new rules of Envoy's rate limit service are in force", "from", d.cfg.Source.Name(), "domains", domains.Len(), "rules", len(domains.Rules))
	for _, note := range domains.Notes[:min(len(domains.Notes), maxNotes)] {
		d.cfg.Logger.Warn("a rule of Envoy's rate limit service may mean something else than expected", "rule", note.String())
	}
	return nil
}

// maxNotes is how many notes of a configuration are logged.
const maxNotes = 10

// Domains is how many domains are in force, and whether any configuration is.
func (d *Door) Domains() (n int, inForce bool) {
	s := d.state.Load()
	if s == nil {
		return 0, false
	}
	return s.domains.Len(), true
}

// Rules are those in force, in the order of their files. They do not change.
func (d *Door) Rules() []*descriptors.Rule {
	if s := d.state.Load(); s != nil {
		return slices.Clone(s.domains.Rules)
	}
	return nil
}
