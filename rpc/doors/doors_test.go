package doors_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNamesThatAreWrong(t *testing.T) {
	cfg := doors.Config{Limiter: doorstest.NewSystem(t, ""), Limits: func() *limit.Document { return nil }}
	for names, says := range map[string]string{
		"nobody":                "unknown door \"nobody\": use gubernator, kuadrant, rls",
		"":                      "unknown door \"\": use",
		"gubernator,gubernator": "door gubernator is given twice",
		"gubernator,rls":        "door rls: needs the directory with its limits: give --rls-config",
		"kuadrant":              "door kuadrant: needs the file with its limits: give --kuadrant-config",
		"extauthz":              "door extauthz: needs the routes of a gateway's document",
	} {
		services, err := doors.Open(strings.Split(names, ","), cfg)
		if err == nil || !strings.Contains(err.Error(), says) || services != nil {
			t.Errorf("%s: %v, want an error with %q", names, err, says)
		}
	}
}

// Every door registers methods that the table of who may call what has, at gateways, and none is open unless it is named.
func TestEveryDoorIsInTheTable(t *testing.T) {
	rules := t.TempDir()
	if err := os.WriteFile(filepath.Join(rules, "d.yaml"), []byte("domain: d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	services, err := doors.Open(doors.Names(), doors.Config{
		Limiter: doorstest.NewSystem(t, ""), Limits: func() *limit.Document { return nil }, RLSConfig: rules, KuadrantConfig: rules, Authorize: http.NotFoundHandler(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := doors.Close(services); err != nil {
			t.Error(err)
		}
	}()
	doors.Register(services)(server)
	var methods, want []string
	for name, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			methods = append(methods, "/"+name+"/"+m.Name)
		}
	}
	for _, e := range access.Table() {
		if e.Door == access.GatewayGRPC && !strings.HasPrefix(e.Call, "/grpc.") {
			want = append(want, e.Call)
		}
	}
	slices.Sort(methods)
	slices.Sort(want)
	if !slices.Equal(methods, want) {
		t.Errorf("doors have %v, and the table %v", methods, want)
	}
	if doors.Register(nil) != nil {
		t.Error("without doors there is something to register")
	}
}

// Over HTTP a door answers at its own paths, and nothing else.
func TestWeb(t *testing.T) {
	services, err := doors.Open([]string{"gubernator"}, doors.Config{Limiter: doorstest.NewSystem(t, ""), Limits: func() *limit.Document { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	other := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for path, want := range map[string]int{"/v1/HealthCheck": http.StatusOK, "/v1/HealthCheck/": http.StatusTeapot, "/v1/check": http.StatusTeapot, "/v1/Health%43heck": http.StatusTeapot} {
		for with, services := range map[string][]doors.Service{"the door": services, "no door": nil} {
			w := httptest.NewRecorder()
			doors.Web(services, other).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			if w.Code != want && (with == "the door" || w.Code != http.StatusTeapot) {
				t.Errorf("%s with %s: %d, want %d", path, with, w.Code, want)
			}
		}
	}
}
