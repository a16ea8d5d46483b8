package config

import (
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// exposed is a problem for each file with a credential of the gateway or its operators that other users of the machine may read. The
// secret of API keys is not among them: it is of no use without the keys.
func (d *Document) exposed() []*limit.FieldError {
	f := &findings{document: d}
	for _, name := range append([]string{""}, sorted(d.Clusters)...) {
		c, path := d.ClusterOf(name), ClusterField(name)
		f.exposed(path+".token_file", c.TokenFile)
		if c.TLS != nil {
			f.exposed(path+".tls.key", c.TLS.Key)
		}
	}
	if d.Proxy != nil {
		if d.Proxy.TLS != nil {
			f.exposed("proxy.tls.key", d.Proxy.TLS.Key)
		}
		for _, name := range sorted(d.Proxy.Upstreams) {
			if t := d.Proxy.Upstreams[name].TLS; t != nil {
				f.exposed(strictyaml.Under("proxy.upstreams", name)+".tls.key", t.Key)
			}
		}
	}
	if d.Doors != nil {
		if d.Doors.TLS != nil {
			f.exposed("doors.tls.key", d.Doors.TLS.Key)
		}
		f.exposed("doors.redis_token_file", d.Doors.RedisTokenFile)
	}
	f.exposed("admin.token_file", d.Admin.TokenFile)
	for i, j := range d.Identity.JWT {
		f.exposed(strictyaml.Item("identity.jwt", i)+".secret_file", j.SecretFile)
	}
	f.exposed("exempt.token_file", d.Exempt.TokenFile)
	return f.list
}

// exposed reports one file if other users may read it.
func (f *findings) exposed(path string, file File) {
	if file.exposed != "" {
		f.add(path, "%s", file.exposed)
	}
}
