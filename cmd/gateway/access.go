package gateway

import (
	"github.com/jeton-dev/jeton/gateway/accesslog"
	"github.com/jeton-dev/jeton/gateway/config"
)

// openAccessLog opens the access log, if the document has one.
func (e *Gateway) openAccessLog(doc *config.Document) (err error) {
	if doc.AccessLog.Path == "" {
		return nil
	}
	if e.access, err = accesslog.Open(accesslog.Config{Path: doc.AccessLog.Path, Registerer: e.metrics, Logger: e.cfg.Logger}); err == nil {
		e.closers.Add(e.access.Close)
	}
	return err
}
