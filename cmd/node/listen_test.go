package node

import "testing"

// Which options of listeners and of the host that others reach go together.
func TestAddressesThatGoTogether(t *testing.T) {
	c := func(advertise, grpc, http, gossip string) Config {
		return Config{Advertise: advertise, ListenGRPC: grpc, ListenHTTP: http, ListenGossip: gossip, ListenRaft: "127.0.0.1:7703"}
	}
	for _, tt := range []struct {
		cfg  Config
		good bool
	}{
		{c("", "127.0.0.1:7700", "127.0.0.1:7702", "127.0.0.1:7701"), true},
		{c("", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"), true},
		{c("node-1.example", "10.0.0.1:7700", "127.0.0.1:7700", ":7701"), true},
		{c("fd00::1", "[fd00::1]:7700", "[fd00::2]:7700", ":7701"), true},
		{c("10.0.0.1", ":7700", ":7702", ":7701"), true},
		{c("10.0.0.1", "not an address", "127.0.0.1:99999", "127.0.0.1:99999"), true}, // another check refuses them
		{c("::", ":7700", ":7702", ":7701"), false},
		{c("[::]", ":7700", ":7702", ":7701"), false},
		{c("10.0.0.1:7700", ":7700", ":7702", ":7701"), false},
		{c("[fd00::1]:7700", ":7700", ":7702", ":7701"), false},
		{c("fd00::1::", ":7700", ":7702", ":7701"), false},
		{c("10.0.0.1/24", ":7700", ":7702", ":7701"), false},
		{c("", "[::1]:7700", "[0:0::1]:7700", "127.0.0.1:7701"), false},
		{c("", "127.0.0.1:7700", "0.0.0.0:7700", "127.0.0.1:7701"), false},
		{c("", "127.0.0.1:7700", "", "127.0.0.1:7703"), false},
		{Config{Advertise: "10.0.0.1:7700", ListenGRPC: "127.0.0.1:7700", ListenHTTP: "127.0.0.1:7702"}, true}, // nobody reads the host of a node that is alone
	} {
		if err := tt.cfg.checkAddresses(); (err == nil) != tt.good {
			t.Errorf("%q, %q, %q, %q: %v", tt.cfg.Advertise, tt.cfg.ListenGRPC, tt.cfg.ListenHTTP, tt.cfg.ListenGossip, err)
		}
	}
}
