package standin

import (
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// Settings are what the environment says. Addresses are HOST:PORT.
type Settings struct {
	GRPC, HTTP, Debug          string
	Prometheus, PrometheusPath string // where the metrics are too; empty for nowhere else

	LogLevel string // debug, info, warn or error
	LogJSON  bool

	TLS       *Files // of the gRPC port; nil for plain text
	ClientSAN string // a name that clients' certificates must be for; empty for any

	Directory string // with the files; empty where XDS says what is limited
	XDS       *XDS
	Merge     bool // several files may describe one domain

	AtOnce  bool // healthy before there is a configuration
	NotBare bool // healthy only with a configuration that is not empty

	Headers          rls.Headers
	Metadata, Shadow bool

	Cluster    []string // gRPC addresses of nodes; none for a node of its own
	ClusterTLS *Files   // for them; nil for plain text
	Data       string   // directory of a node of its own; empty for memory
	Registers  int64    // that it keeps; 0 for what is usual

	Unused []Unused
}

// XDS is the server of configurations.
type XDS struct {
	Server, Node      string
	Metadata, Headers map[string]string
	TLS               *Files // nil for plain text
	ServerName        string // that the server's certificate must be for; empty for that of the address
	MaxMessage        int
	Pause, MaxPause   time.Duration
}

// maxMessage is the most that XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES may say.
const maxMessage = 1 << 30

// Read reads an environment, each name=value. The error is everything that is wrong, a line for each variable.
func Read(environ []string) (*Settings, error) {
	e := newEnvironment(environ)
	e.refuse()
	s := &Settings{
		HTTP: e.address("HOST", "PORT", 8080), GRPC: e.address("GRPC_HOST", "GRPC_PORT", 8081), Debug: e.address("DEBUG_HOST", "DEBUG_PORT", 6070),
		LogLevel: e.level(), LogJSON: e.choice("LOG_FORMAT", "text", "text", "json") == "json",
		Merge: e.flag("MERGE_DOMAIN_CONFIG"), AtOnce: e.flag("FORCE_START_WITHOUT_INITIAL_CONFIG"), NotBare: e.flag("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED"),
		Headers: rls.Headers{
			Enabled: e.flag("LIMIT_RESPONSE_HEADERS_ENABLED"), Limit: e.text("LIMIT_LIMIT_HEADER", ""), Remaining: e.text("LIMIT_REMAINING_HEADER", ""), Reset: e.text("LIMIT_RESET_HEADER", ""),
		},
		Metadata: e.flag("RESPONSE_DYNAMIC_METADATA"), Shadow: e.flag("SHADOW_MODE"),
	}
	if e.flag("USE_PROMETHEUS") {
		s.Prometheus, s.PrometheusPath = e.text("PROMETHEUS_ADDR", ":9090"), e.text("PROMETHEUS_PATH", "/metrics")
		if !strings.HasPrefix(s.PrometheusPath, "/") {
			e.wrong("PROMETHEUS_PATH", "%q is no path: write one that begins with /", s.PrometheusPath)
		}
	}
	s.readPort(e)
	s.refuseSharedPorts(e)
	switch e.choice("CONFIG_TYPE", "FILE", "FILE", "GRPC_XDS_SOTW") {
	case "FILE":
		s.Directory = filepath.Join(e.text("RUNTIME_ROOT", "/srv/runtime_data/current"), e.text("RUNTIME_SUBDIRECTORY", ""), e.text("RUNTIME_APPDIRECTORY", "config"))
	default:
		s.readXDS(e)
	}
	s.readBuckets(e)
	s.Unused = unusedOf(e.all)
	return s, e.err()
}

// level is the one of the log. Those of logrus beyond slog's mean the nearest.
func (e *environment) level() string {
	levels := map[string]string{"panic": "error", "fatal": "error", "error": "error", "warn": "warn", "warning": "warn", "info": "info", "debug": "debug", "trace": "debug"}
	value := e.text("LOG_LEVEL", "WARN")
	level, known := levels[strings.ToLower(value)]
	if !known {
		e.wrong("LOG_LEVEL", "%q is not known: use error, warn, info or debug", value)
	}
	return level
}

// refuseSharedPorts notes variables that name one port.
func (s *Settings) refuseSharedPorts(e *environment) {
	all := []struct{ variable, address string }{{httpPort, s.HTTP}, {grpcPort, s.GRPC}, {debugPort, s.Debug}, {prometheusPort, s.Prometheus}}
	for i, one := range all {
		for _, other := range all[:i] {
			if port := sharedPort(one.address, other.address); port != "" {
				e.wrong(one.variable, "%s is the port of %s too: give each a port of its own", port, other.variable)
			}
		}
	}
}

// sharedPort is the port that two addresses have in common; empty for none. An address without a host, or with an unspecified one, has all hosts.
func sharedPort(a, b string) string {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	every := func(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }
	if errA != nil || errB != nil || portA != portB || portA == "0" || hostA != hostB && !every(hostA) && !every(hostB) {
		return ""
	}
	return portA
}

// readPort reads what clients of the gRPC port are shown.
func (s *Settings) readPort(e *environment) {
	if !e.flag("GRPC_SERVER_USE_TLS") {
		return
	}
	s.TLS = e.files("GRPC_SERVER_TLS_CERT", "GRPC_SERVER_TLS_KEY", "GRPC_CLIENT_TLS_CACERT")
	s.ClientSAN = e.text("GRPC_CLIENT_TLS_SAN", "")
	switch {
	case s.TLS.Cert.Path == "":
		e.wrong("GRPC_SERVER_TLS_CERT", "is missing, and GRPC_SERVER_USE_TLS is true: name the file with the certificate")
	case s.ClientSAN != "" && s.TLS.CA.Path == "":
		e.wrong("GRPC_CLIENT_TLS_SAN", "is for certificates of clients, who show one only where GRPC_CLIENT_TLS_CACERT names its authority: give that too")
	}
}

func (s *Settings) readXDS(e *environment) {
	x := &XDS{
		Server: e.text("CONFIG_GRPC_XDS_SERVER_URL", "localhost:18000"), Node: e.text("CONFIG_GRPC_XDS_NODE_ID", "default"),
		Metadata: e.pairs("CONFIG_GRPC_XDS_NODE_METADATA", "="), Headers: e.pairs("CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", ":"),
		MaxMessage: int(e.number("XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", 0, maxMessage)),
		Pause:      e.pause("XDS_CLIENT_BACKOFF_INITIAL_INTERVAL"), MaxPause: e.pause("XDS_CLIENT_BACKOFF_MAX_INTERVAL"),
	}
	if x.Server == "" {
		e.wrong("CONFIG_GRPC_XDS_SERVER_URL", "is empty: name the server of the configurations, such as envoy-gateway:18001")
	}
	for name := range x.Headers {
		if name != strings.ToLower(name) || strings.ContainsAny(name, " \t\r\n") || strings.HasPrefix(name, "grpc-") {
			e.wrong("CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "%q is no name of a header of gRPC: write it in small letters", name)
		}
	}
	if e.flag("CONFIG_GRPC_XDS_SERVER_USE_TLS") {
		x.TLS = e.files("CONFIG_GRPC_XDS_CLIENT_TLS_CERT", "CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "CONFIG_GRPC_XDS_SERVER_TLS_CACERT")
		x.ServerName = e.text("CONFIG_GRPC_XDS_SERVER_TLS_SAN", "")
	}
	s.XDS = x
}

// readBuckets reads where the buckets are.
func (s *Settings) readBuckets(e *environment) {
	s.Cluster, s.Data = e.servers("JETON_CLUSTER"), e.text("JETON_DATA", "")
	s.Registers = e.number("JETON_INLINE_REGISTERS", 0, 1<<40)
	tls := e.files("JETON_TLS_CERT", "JETON_TLS_KEY", "JETON_TLS_CA")
	given := tls.Cert.Path != "" || tls.CA.Path != ""
	switch {
	case len(s.Cluster) > 0 && s.Data != "":
		e.wrong("JETON_DATA", "is for a node of its own, and JETON_CLUSTER names a cluster, which keeps the buckets: leave one of them out")
	case len(s.Cluster) > 0 && s.Registers != 0:
		e.wrong("JETON_INLINE_REGISTERS", "is for a node of its own, and JETON_CLUSTER names a cluster: give --inline-registers to its nodes")
	case given && len(s.Cluster) == 0:
		e.wrong("JETON_CLUSTER", "is missing, and JETON_TLS_CERT, JETON_TLS_KEY and JETON_TLS_CA are for its nodes: name their gRPC addresses")
	case given && (tls.Cert.Path == "" || tls.CA.Path == ""):
		e.wrong("JETON_TLS_CERT", "give all three of JETON_TLS_CERT, JETON_TLS_KEY and JETON_TLS_CA, or none of them")
	case given:
		s.ClusterTLS = tls
	}
}
