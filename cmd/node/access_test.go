package node_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/credentials"
)

// A caller is how a client connects to a node, and the token that it shows.
type caller struct {
	transport grpccredentials.TransportCredentials
	token     string
}

// The needs that a caller meets: all up to one, all, or none because no connection is served.
const (
	nothing = -1
	probing = int(access.Check)
	operate = int(access.Change)
	all     = int(access.Key)
)

// TestEveryCallAsEveryCaller calls every method that a running node serves as every kind of caller, and every route. What is
// served and what the table names must be the same.
func TestEveryCallAsEveryCaller(t *testing.T) {
	ours, err := key.New([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	withKey := credentials.WithKey(ours)
	ca := authority.New(t, "ours")
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)
	shown, err := credentials.CallerTLS(credentials.TLSFiles(authority.Write(t, t.TempDir(), ca.Issue(t, "caller"), ca)))
	if err != nil {
		t.Fatal(err)
	}
	plain, certificate := insecure.NewCredentials(), grpccredentials.NewTLS(shown)
	uncertified := grpccredentials.NewTLS(&tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}})
	callers := map[string]caller{
		"a stranger":                    {plain, ""},
		"a stranger with a wrong token": {plain, fileToken + "0"},
		"a token":                       {plain, fileToken},
		"the key's token":               {plain, ours.Token()},
		"the key":                       {withKey, ""},
		"a certificate":                 {certificate, ""},
		"a certificate and a token":     {certificate, fileToken},
		"TLS without a certificate":     {uncertified, fileToken},
	}
	keyFile, tokens := writeFile(t, "key", secret), writeFile(t, "tokens", fileToken+"\n")
	rules := filepath.Dir(writeFile(t, "rules.yaml", "{domain: d, descriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 2}}]}"))
	for name, tt := range map[string]struct {
		cfg   node.Config
		alone bool
		may   map[string]int // by caller; who is missing is nothing
	}{
		"with nothing": {node.Config{}, false, map[string]int{
			"a stranger": all, "a stranger with a wrong token": all, "a token": all, "the key's token": all,
		}},
		"with a key": {node.Config{ClusterKeyFile: keyFile}, false, map[string]int{
			"a stranger": probing, "a stranger with a wrong token": probing, "a token": probing, "the key's token": operate, "the key": all,
		}},
		"with a key and tokens": {node.Config{ClusterKeyFile: keyFile, AdminTokenFile: tokens}, false, map[string]int{
			"a stranger": probing, "a stranger with a wrong token": probing, "a token": operate, "the key's token": operate, "the key": all,
		}},
		"with everything": {
			node.Config{ClusterKeyFile: keyFile, AdminTokenFile: tokens, TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA},
			false,
			map[string]int{"the key": all, "a certificate": probing, "a certificate and a token": operate},
		},
		"alone with certificates": {
			node.Config{TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA},
			true,
			map[string]int{"a certificate": probing, "a certificate and a token": probing},
		},
		"alone with certificates and tokens": {
			node.Config{AdminTokenFile: tokens, TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA},
			true,
			map[string]int{"a certificate": probing, "a certificate and a token": operate},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Data, cfg.Logger, cfg.ListenGRPC = t.TempDir(), slog.New(slog.DiscardHandler), "127.0.0.1:0"
			cfg.Doors, cfg.RLSConfig, cfg.KuadrantConfig = []string{"gubernator", "kuadrant", "rls", "rlqs"}, rules, rules
			if !tt.alone {
				cfg.ListenGossip, cfg.ListenRaft = "127.0.0.1:0", "127.0.0.1:0" // a cluster of one
			}
			n := open(t, cfg)
			entitled := callers["a stranger"]
			for who, may := range tt.may {
				if may > nothing {
					entitled = callers[who]
				}
			}
			methods := methodsOf(t, n, entitled)
			wantTable(t, methods, tt.alone)
			for who, by := range callers {
				may, connects := tt.may[who]
				if !connects {
					may = nothing
				}
				for _, method := range methods {
					entry, _ := access.Method(method)
					if got, want := served(t, n, by, method), int(entry.Need) <= may; got != want {
						t.Errorf("%s calls %s: served %v, want %v", who, method, got, want)
					}
				}
			}
		})
	}
}

// wantTable fails unless the methods are those of the table: all of them, or those of a node that is alone.
func wantTable(t *testing.T, methods []string, alone bool) {
	t.Helper()
	var want []string
	for _, e := range access.Table() {
		ofOthers := strings.HasPrefix(e.Call, "/jeton.v1.Peer/")
		if e.Door == access.NodeGRPC && (!alone || !ofOthers) {
			want = append(want, e.Call)
		}
	}
	slices.Sort(want)
	if !slices.Equal(methods, want) {
		t.Errorf("the node serves\n%v\nand the table has\n%v", methods, want)
	}
}

// dial connects to a node.
func dial(t *testing.T, n *node.Node, by caller) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+n.GRPCAddr(), grpc.WithTransportCredentials(by.transport.Clone()))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// methodsOf are those that a node serves, as it tells by reflection, sorted.
func methodsOf(t *testing.T, n *node.Node, by caller) (methods []string) {
	t.Helper()
	conn := dial(t, n, by)
	defer conn.Close() //nolint:errcheck // it has been answered
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(m *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	services := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	for _, s := range services.GetListServicesResponse().GetService() {
		files := ask(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: s.GetName()},
		})
		for _, text := range files.GetFileDescriptorResponse().GetFileDescriptorProto() {
			var file descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			for _, d := range file.GetService() {
				for _, m := range d.GetMethod() {
					if file.GetPackage()+"."+d.GetName() == s.GetName() {
						methods = append(methods, "/"+s.GetName()+"/"+m.GetName())
					}
				}
			}
		}
	}
	slices.Sort(methods)
	return methods
}

// garbage is sent instead of a message: a caller with access gets the error that it is none, and the node does nothing.
type garbage struct{}

func (garbage) Marshal(any) ([]byte, error) { return []byte{0xff}, nil }
func (garbage) Unmarshal([]byte, any) error { return nil }
func (garbage) Name() string                { return "proto" }
func (c caller) says(ctx context.Context) context.Context {
	if c.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.token)
}

// served says whether a node serves a method to a caller.
func served(t *testing.T, n *node.Node, by caller, method string) bool {
	t.Helper()
	conn := dial(t, n, by)
	defer conn.Close() //nolint:errcheck // it has been answered
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := conn.NewStream(by.says(ctx), desc, method, grpc.ForceCodec(garbage{}))
	if err == nil {
		_ = stream.SendMsg(garbage{}) // what is wrong with the stream, its answer says
		_ = stream.CloseSend()
		err = stream.RecvMsg(garbage{})
	}
	code := status.Code(err)
	if code == codes.Unimplemented {
		t.Errorf("%s is not there", method)
	}
	return code != codes.Unauthenticated && code != codes.Unavailable
}

// A request to every route of the HTTP port, by how the table writes its path.
var sample = strings.NewReplacer("{limit}", "demo", "{key...}", "k", "{profile...}", "cmdline", "{file}", "main.js")

// TestEveryRouteAsEveryCaller does the same over HTTP, on loopback and beyond.
func TestEveryRouteAsEveryCaller(t *testing.T) {
	keyFile, tokens := writeFile(t, "key", secret), writeFile(t, "tokens", fileToken+"\n")
	limits := writeFile(t, "limits.yaml", "limits: {demo: {capacity: 1000, refill: 1/s}}")
	const own, public = "127.0.0.1:0", "0.0.0.0:0"
	for _, tt := range []struct {
		name          string
		cfg           node.Config
		byKey, byFile bool        // these tokens count
		needs         access.Need // the least that takes a token
	}{
		{"loopback", node.Config{ListenHTTP: own}, false, false, access.Change}, // by the token of the data directory
		{"loopback with a key", node.Config{ListenHTTP: own, ClusterKeyFile: keyFile}, true, false, access.Change},
		{"loopback with tokens", node.Config{ListenHTTP: own, AdminTokenFile: tokens}, false, true, access.Change},
		{"beyond with a key", node.Config{ListenHTTP: public, ClusterKeyFile: keyFile}, true, false, access.Look},
		{"beyond with tokens", node.Config{ListenHTTP: public, AdminTokenFile: tokens}, false, true, access.Look},
		{"beyond with both", node.Config{ListenHTTP: public, ClusterKeyFile: keyFile, AdminTokenFile: tokens}, true, true, access.Look},
		{"beyond, insecure", node.Config{ListenHTTP: public, Insecure: true}, false, false, access.Key},
		{"beyond, insecure with tokens", node.Config{ListenHTTP: public, Insecure: true, AdminTokenFile: tokens}, false, true, access.Look},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Data, cfg.Limits, cfg.Advertise, cfg.Logger = t.TempDir(), limits, "127.0.0.1", slog.New(slog.DiscardHandler)
			cfg.Doors = []string{"gubernator"}
			cfg.ListenGRPC, cfg.ListenGossip, cfg.ListenRaft = own, own, own // a cluster of one
			n := open(t, cfg)
			shown := map[string]bool{"": false, "wrong-wrong-wrong-wrong": false, tokenOf(t, secret): tt.byKey, fileToken: tt.byFile}
			local, err := os.ReadFile(filepath.Join(cfg.Data, "token"))
			if made := err == nil; made != (tt.needs < access.Key && !tt.byKey && !tt.byFile) {
				t.Fatalf("a token in the data directory: %v, %v", made, err)
			} else if made {
				shown[strings.TrimSpace(string(local))] = true
			}
			for token, counts := range shown {
				for _, e := range access.Table() {
					if e.Door != access.NodeHTTP {
						continue
					}
					method, path, _ := strings.Cut(e.Call, " ")
					res := send(t, plainHTTP(), "http", method, n.HTTPAddr(), sample.Replace(path), token)
					refused := res.status == http.StatusUnauthorized && path != "/console/sign-in" // which shows the form again
					served := res.status < 300 ||
						(path == "/v1/extend" || path == "/v1/hold") && res.status == http.StatusBadRequest || // demo has no permits and takes no holds
						path == "/console/sign-in" && res.status == http.StatusUnauthorized ||
						path == "/console/sign-out" && res.status == http.StatusSeeOther ||
						path == "/v1/overrides" && method == http.MethodDelete && res.status == http.StatusBadRequest || // none is named
						path == "/v1/settle" && res.status == http.StatusNotFound
					if want := e.Need >= tt.needs && !counts; refused != want || !refused && !served {
						t.Errorf("%s with token %q: %d, refused must be %v", e.Call, token, res.status, want)
					}
					if refused && (!strings.HasPrefix(res.header.Get("WWW-Authenticate"), "Bearer") ||
						res.header.Get("Content-Type") != "application/problem+json") {
						t.Errorf("%s: refused with %v", e.Call, res.header)
					}
				}
				for _, call := range []string{"GET /v1/other", "GET /debug/vars", "POST /livez", "PATCH /v1/limits", "GET /debug/../v1/limits", "GET //livez"} {
					method, path, _ := strings.Cut(call, " ")
					res := send(t, plainHTTP(), "http", method, n.HTTPAddr(), path, token)
					if want := tt.needs <= access.Look && !counts; res.status < 400 || (res.status == http.StatusUnauthorized) != want {
						t.Errorf("%s, which is not in the table, with token %q: %d", call, token, res.status)
					}
				}
			}
		})
	}
}

// The pages of a node that listens on loopback are for this machine, not for a page that made its name lead here.
func TestForeignHost(t *testing.T) {
	n := open(t, node.Config{Data: t.TempDir(), ListenHTTP: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	_, port, _ := net.SplitHostPort(n.HTTPAddr())
	for host, want := range map[string]int{"localhost:" + port: http.StatusOK, "evil.example:" + port: http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.HTTPAddr()+"/v1/limits", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := plainHTTP().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, res.StatusCode, want)
		}
	}
}
