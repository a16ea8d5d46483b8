package config

import (
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// The doors that speak gRPC.
const (
	DoorExtAuthz   = "extauthz"
	DoorGubernator = "gubernator"
	DoorKuadrant   = "kuadrant"
	DoorRLS        = "rls"
	DoorRLQS       = "rlqs"
)

// GRPCDoors are the names of all doors that speak gRPC.
func GRPCDoors() []string {
	return []string{DoorExtAuthz, DoorGubernator, DoorKuadrant, DoorRLS, DoorRLQS}
}

func (f *findings) doors(d *Doors) {
	for i, name := range d.GRPC {
		if !slices.Contains(GRPCDoors(), name) {
			f.add(strictyaml.Item("doors.grpc", i), "%.64q is not a door: use %s", name, strings.Join(GRPCDoors(), ", "))
		}
	}
	f.different("doors.grpc", d.GRPC)
	rls := slices.Contains(d.GRPC, DoorRLS)
	switch {
	case len(d.GRPC) == 0 && d.Redis == "":
		f.add("doors", "is empty: name some of %s in grpc, or an address in redis", strings.Join(GRPCDoors(), ", "))
	case rls && !d.RLSConfig.Given():
		f.add("doors.rls_config", "is missing: name the directory with the limits of rls")
	case !rls && (d.RLSHeaders || d.RLSMetadata):
		f.add("doors.grpc", "does not name rls, for which rls_headers and rls_metadata are: add it, or leave these out")
	case !rls && d.RLSConfig.Given():
		f.add("doors.rls_config", "is for the door rls, which doors.grpc does not name: add it, or leave this out")
	}
	switch kuadrant := slices.Contains(d.GRPC, DoorKuadrant); {
	case kuadrant && !d.KuadrantConfig.Given():
		f.add("doors.kuadrant_config", "is missing: name the file with the limits of kuadrant, or a directory with several")
	case !kuadrant && d.KuadrantConfig.Given():
		f.add("doors.kuadrant_config", "is for the door kuadrant, which doors.grpc does not name: add it, or leave this out")
	}
	if d.Listen != "" && len(d.GRPC) == 0 {
		f.add("doors.listen", "is for doors that speak gRPC, and doors.grpc names none: add some, or leave this out")
	}
	if d.RedisTokenFile.Given() && d.Redis == "" {
		f.add("doors.redis_token_file", "is for clients at doors.redis, which is missing: add an address, or leave this out")
	}
	f.tokens("doors.redis_token_file", d.RedisTokenFile)
	if d.TLS != nil {
		f.pair("doors.tls", d.TLS.Cert, d.TLS.Key)
	}
	f.networks("doors.trusted", d.Trusted)
	if f.document.Asked()[0] != "" {
		f.add("doors", "asks the cluster that has no name, and cluster.servers is missing: add it, or leave doors out")
	}
}
