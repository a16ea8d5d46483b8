package limit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestReport(t *testing.T) {
	good := limit.Report{Edge: 1, Number: 2, Age: time.Second, Asked: 3}
	for want, change := range map[string]func(*limit.Request){
		"":                     func(*limit.Request) {},
		"report: is about":     func(r *limit.Request) { r.Charge = false },
		"report.edge: is":      func(r *limit.Request) { r.Report.Edge = 0 },
		"report.number: is":    func(r *limit.Request) { r.Report.Number = 0 },
		"report.age: -1s is":   func(r *limit.Request) { r.Report.Age = -time.Second },
		"report.asked: is not": func(r *limit.Request) { r.Report.Asked = -1 },
		"charge: reports":      func(r *limit.Request) { r.Receipt = true },
		"charge: reports what": func(r *limit.Request) { r.Report, r.Look, r.Cost = nil, true, 0 },
	} {
		report := good
		r := limit.Request{Key: "k", Cost: 5, Limits: []limit.Ref{limit.Named("l")}, Charge: true, Report: &report}
		change(&r)
		if err := r.Validate(); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
	report := good
	if err := (&limit.Request{Key: "k", Look: true, Limits: []limit.Ref{limit.Named("l")}, Charge: true, Report: &report}).Validate(); err != nil {
		t.Errorf("that nothing was spent: %v", err)
	}
}
