package standin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/ratelimit/standin"
)

// ofEnvoyGateway are the variables that Envoy Gateway gives the container, with Redis over TLS, Prometheus and traces.
func ofEnvoyGateway() []string {
	return []string{
		"RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_IGNOREDOTFILES=true", "RUNTIME_WATCH_ROOT=false", "LOG_LEVEL=info", "USE_STATSD=false",
		"CONFIG_TYPE=GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL=envoy-gateway:18001", "CONFIG_GRPC_XDS_NODE_ID=envoy-ratelimit",
		"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=/certs/tls.crt", "GRPC_SERVER_TLS_KEY=/certs/tls.key", "GRPC_SERVER_TLS_CA_CERT=/certs/ca.crt",
		"CONFIG_GRPC_XDS_SERVER_USE_TLS=true", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT=/certs/tls.crt", "CONFIG_GRPC_XDS_CLIENT_TLS_KEY=/certs/tls.key",
		"CONFIG_GRPC_XDS_SERVER_TLS_CACERT=/certs/ca.crt", "FORCE_START_WITHOUT_INITIAL_CONFIG=true",
		"REDIS_SOCKET_TYPE=tcp", "REDIS_URL=redis:6379", "REDIS_TLS=true", "REDIS_TLS_CLIENT_CERT=/redis-certs/tls.crt", "REDIS_AUTH=a password",
		"USE_PROMETHEUS=true", "PROMETHEUS_ADDR=:19001", "PROMETHEUS_MAPPER_YAML=/etc/statsd-exporter/conf.yaml",
		"TRACING_ENABLED=true", "TRACING_SERVICE_NAME=envoy-ratelimit", "TRACING_SAMPLING_RATE=0.6",
		"JETON_CLUSTER=jeton-0.jeton:7700, jeton-1.jeton:7700", "JETON_SERVICE_HOST=10.0.0.1", "JETON_PORT_7700_TCP=tcp://10.0.0.1:7700",
		"PATH=/bin", "HOSTNAME=envoy-ratelimit-abc",
	}
}

func TestReadOfEnvoyGateway(t *testing.T) {
	s, err := standin.Read(ofEnvoyGateway())
	if err != nil {
		t.Fatal(err)
	}
	if s.GRPC != "0.0.0.0:8081" || s.HTTP != "0.0.0.0:8080" || s.Debug != "0.0.0.0:6070" || s.Prometheus != ":19001" || s.PrometheusPath != "/metrics" || s.LogLevel != "info" || s.LogJSON {
		t.Errorf("got %+v", s)
	}
	if s.Directory != "" || s.XDS == nil || s.XDS.Server != "envoy-gateway:18001" || s.XDS.Node != "envoy-ratelimit" || s.XDS.TLS.Cert.Path != "/certs/tls.crt" || s.XDS.TLS.CA.Path != "/certs/ca.crt" {
		t.Errorf("the xDS server is %+v", s.XDS)
	}
	if s.TLS == nil || s.TLS.Key.Path != "/certs/tls.key" || s.TLS.CA.Path != "" || !s.AtOnce || s.NotBare || s.Shadow || s.Merge {
		t.Errorf("got %+v", s)
	}
	if !slices.Equal(s.Cluster, []string{"jeton-0.jeton:7700", "jeton-1.jeton:7700"}) || s.ClusterTLS != nil || s.Data != "" {
		t.Errorf("the cluster is %q", s.Cluster)
	}
	var unused []string
	for _, u := range s.Unused {
		unused = append(unused, u.Variables...)
		if u.Instead == "" || strings.Contains(u.Instead, "a password") {
			t.Errorf("%v are said to be %q", u.Variables, u.Instead)
		}
	}
	want := []string{
		"GRPC_SERVER_TLS_CA_CERT", "PROMETHEUS_MAPPER_YAML", "REDIS_AUTH", "REDIS_SOCKET_TYPE", "REDIS_TLS", "REDIS_TLS_CLIENT_CERT", "REDIS_URL",
		"TRACING_ENABLED", "TRACING_SAMPLING_RATE", "TRACING_SERVICE_NAME",
	}
	if !slices.Equal(unused, want) {
		t.Errorf("unused are %v, want %v", unused, want)
	}
}

func TestReadDefaults(t *testing.T) {
	s, err := standin.Read([]string{
		"RUNTIME_SUBDIRECTORY=ratelimit", "GRPC_CLIENT_TLS_CACERT=ca", "LIMIT_RESPONSE_HEADERS_ENABLED=1", "LIMIT_LIMIT_HEADER=X-Limit", "SHADOW_MODE=true", "MERGE_DOMAIN_CONFIG=t",
		"RESPONSE_DYNAMIC_METADATA=true", "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED=true", "JETON_DATA=/data", "JETON_INLINE_REGISTERS=5000", "LOG_FORMAT=json", "HOST=127.0.0.1", "PORT=81",
		"CONFIG_GRPC_XDS_SERVER_URL=", "DOG_STATSD_MOGRIFIER_TAG=a", "GRPC_UDS=",
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Directory != "/srv/runtime_data/current/ratelimit/config" || s.XDS != nil || s.TLS != nil || s.HTTP != "127.0.0.1:81" || !s.LogJSON || s.LogLevel != "warn" || s.Prometheus != "" {
		t.Errorf("got %+v", s)
	}
	if !s.Headers.Enabled || s.Headers.Limit != "X-Limit" || !s.Shadow || !s.Merge || !s.Metadata || !s.NotBare || s.AtOnce || s.Data != "/data" || s.Registers != 5000 {
		t.Errorf("got %+v", s)
	}
	x, err := standin.Read([]string{
		"CONFIG_TYPE=GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_NODE_METADATA=zone=a,rack=b=c", "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS=x-a:1,x-b:2:3",
		"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES=1000", "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL=1s", "XDS_CLIENT_BACKOFF_MAX_INTERVAL=1m",
	})
	if err != nil {
		t.Fatal(err)
	}
	if x.XDS.Server != "localhost:18000" || x.XDS.Metadata["rack"] != "b=c" || x.XDS.Headers["x-b"] != "2:3" || x.XDS.MaxMessage != 1000 || x.XDS.Pause != time.Second || x.XDS.MaxPause != time.Minute || x.XDS.TLS != nil {
		t.Errorf("got %+v", x.XDS)
	}
}

// TestReadWrong gives each variable a value that is wrong: the error names it.
func TestReadWrong(t *testing.T) {
	xds := "CONFIG_TYPE=GRPC_XDS_SOTW"
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"CONFIG_TYPE=XDS"}, `CONFIG_TYPE: "XDS" is not known: use FILE, GRPC_XDS_SOTW`},
		{[]string{"CONFIG_TYPE="}, `CONFIG_TYPE: "" is not known`},
		{[]string{"PORT=http"}, `PORT: "http" is no port`},
		{[]string{"GRPC_PORT=65536"}, `GRPC_PORT: "65536" is no port`},
		{[]string{"DEBUG_PORT=-1"}, `DEBUG_PORT: "-1" is no port`},
		{[]string{"PORT=23311", "GRPC_PORT=23311"}, `GRPC_PORT: 23311 is the port of PORT too`},
		{[]string{"HOST=127.0.0.1", "PORT=6070"}, `DEBUG_PORT: 6070 is the port of PORT too`},
		{[]string{"USE_PROMETHEUS=true", "PROMETHEUS_ADDR=:8080"}, `PROMETHEUS_ADDR: 8080 is the port of PORT too`},
		{[]string{"HOST=\xff"}, `HOST: is not UTF-8`},
		{[]string{"LOG_LEVEL=loud"}, `LOG_LEVEL: "loud" is not known`},
		{[]string{"LOG_FORMAT=xml"}, `LOG_FORMAT: "xml" is not known: use text, json`},
		{[]string{"SHADOW_MODE=maybe"}, `SHADOW_MODE: "maybe" is neither true nor false`},
		{[]string{"MERGE_DOMAIN_CONFIG="}, `MERGE_DOMAIN_CONFIG: "" is neither true nor false`},
		{[]string{"FORCE_START_WITHOUT_INITIAL_CONFIG=2"}, `FORCE_START_WITHOUT_INITIAL_CONFIG: "2" is neither`},
		{[]string{"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED=2"}, `HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "2" is neither`},
		{[]string{"LIMIT_RESPONSE_HEADERS_ENABLED=x"}, `LIMIT_RESPONSE_HEADERS_ENABLED: "x" is neither`},
		{[]string{"RESPONSE_DYNAMIC_METADATA=x"}, `RESPONSE_DYNAMIC_METADATA: "x" is neither`},
		{[]string{"USE_PROMETHEUS=x"}, `USE_PROMETHEUS: "x" is neither`},
		{[]string{"USE_PROMETHEUS=true", "PROMETHEUS_PATH=metrics"}, `PROMETHEUS_PATH: "metrics" is no path`},
		{[]string{"GRPC_SERVER_USE_TLS=x"}, `GRPC_SERVER_USE_TLS: "x" is neither`},
		{[]string{"GRPC_SERVER_USE_TLS=true"}, `GRPC_SERVER_TLS_CERT: is missing`},
		{[]string{"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=c"}, `GRPC_SERVER_TLS_KEY: is missing beside GRPC_SERVER_TLS_CERT`},
		{[]string{"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_KEY=k"}, `GRPC_SERVER_TLS_CERT: is missing beside GRPC_SERVER_TLS_KEY`},
		{[]string{"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=c", "GRPC_SERVER_TLS_KEY=k", "GRPC_CLIENT_TLS_SAN=envoy"}, `GRPC_CLIENT_TLS_SAN: is for certificates of clients`},
		{[]string{xds, "CONFIG_GRPC_XDS_SERVER_URL="}, `CONFIG_GRPC_XDS_SERVER_URL: is empty`},
		{[]string{xds, "CONFIG_GRPC_XDS_NODE_ID=\xff"}, `CONFIG_GRPC_XDS_NODE_ID: is not UTF-8`},
		{[]string{xds, "CONFIG_GRPC_XDS_NODE_METADATA=zone"}, `CONFIG_GRPC_XDS_NODE_METADATA: entry 1 has no name and value`},
		{[]string{xds, "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS=x:1,a=b"}, `CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: entry 2 has no name and value`},
		{[]string{xds, "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS=X-A:b"}, `CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: "X-A" is no name of a header`},
		{[]string{xds, "CONFIG_GRPC_XDS_SERVER_USE_TLS=x"}, `CONFIG_GRPC_XDS_SERVER_USE_TLS: "x" is neither`},
		{[]string{xds, "CONFIG_GRPC_XDS_SERVER_USE_TLS=true", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT=c"}, `CONFIG_GRPC_XDS_CLIENT_TLS_KEY: is missing beside`},
		{[]string{xds, "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES=0"}, `XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: "0" is no whole number from 1`},
		{[]string{xds, "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL=5"}, `XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "5" is no duration`},
		{[]string{xds, "XDS_CLIENT_BACKOFF_MAX_INTERVAL=0s"}, `XDS_CLIENT_BACKOFF_MAX_INTERVAL: "0s" is no duration above 0`},
		{[]string{"QUOTA_MODE=true"}, `QUOTA_MODE: a quota mode of all rules is not there`},
		{[]string{"CACHE_KEY_PREFIX=a"}, `CACHE_KEY_PREFIX: keys have no prefix`},
		{[]string{"GRPC_UDS=/tmp/s"}, `GRPC_UDS: a Unix socket is not there`},
		{[]string{"JETON_TOKEN_FILE=t"}, `JETON_TOKEN_FILE: checks need no token`},
		{[]string{"JETON_CLUSTR=a:1"}, `JETON_CLUSTR: is not known: did you mean JETON_CLUSTER?`},
		{[]string{"JETON_CLUSTER="}, `JETON_CLUSTER: "" is no address`},
		{[]string{"JETON_CLUSTER=a:1,b"}, `JETON_CLUSTER: "b" is no address`},
		{[]string{"JETON_CLUSTER=a:1", "JETON_DATA=d"}, `JETON_DATA: is for a node of its own`},
		{[]string{"JETON_CLUSTER=a:1", "JETON_INLINE_REGISTERS=5"}, `JETON_INLINE_REGISTERS: is for a node of its own`},
		{[]string{"JETON_INLINE_REGISTERS=0"}, `JETON_INLINE_REGISTERS: "0" is no whole number`},
		{[]string{"JETON_TLS_CERT=c", "JETON_TLS_KEY=k", "JETON_TLS_CA=a"}, `JETON_CLUSTER: is missing`},
		{[]string{"JETON_CLUSTER=a:1", "JETON_TLS_CA=a"}, `JETON_TLS_CERT: give all three`},
		{[]string{"JETON_CLUSTER=a:1", "JETON_TLS_CERT=c", "JETON_TLS_KEY=k"}, `JETON_TLS_CERT: give all three`},
	} {
		_, err := standin.Read(c.environ)
		if err == nil {
			t.Errorf("%q is taken", c.environ)
			continue
		}
		if !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool { return strings.HasPrefix(line, c.want) }) {
			t.Errorf("%q: %v, want %s", c.environ, err, c.want)
		}
	}
	if _, err := standin.Read([]string{"PORT=a", "LOG_LEVEL=b", "QUOTA_MODE=c"}); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("of three mistakes it says %v", err)
	}
}
