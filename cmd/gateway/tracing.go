package gateway

import (
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/tracing"
)

// openTracing makes what the document says. Without an endpoint, spans go nowhere. It does not wait for the collector.
func (e *Gateway) openTracing(doc *config.Document) (err error) {
	e.tracing, err = tracing.Open(tracing.Config{
		Endpoint: doc.Tracing.Endpoint, Insecure: doc.Tracing.Insecure, Share: doc.Tracing.SampleShare(),
		Service: "jeton-gateway", Instance: doc.GatewayName(), Logger: e.cfg.Logger, Failures: e.counts.exportFailures,
	})
	if err == nil {
		e.closers.Add(e.tracing.Close)
	}
	return err
}
