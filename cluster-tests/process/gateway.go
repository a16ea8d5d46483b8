package process

import "context"

// A Gateway is a "jeton gateway" beside a Cluster, at addresses that it keeps when it is started again.
type Gateway struct {
	*Node // the process; nil before the first start

	Name, Proxy, Admin string
	// Config is the file with its document, which its caller writes.
	Config  string
	cluster *Cluster
}

// PlanGateway makes a gateway with addresses of its own, and does not start it.
func (c *Cluster) PlanGateway(name, config string) *Gateway {
	c.t.Helper()
	at := c.addresses(name, 2)
	return &Gateway{Name: name, Proxy: at[0], Admin: at[1], Config: config, cluster: c}
}

// Begin starts the process, and does not wait.
func (g *Gateway) Begin() error {
	n, err := g.cluster.begin(g.Name, g.cluster.binary, []string{"gateway", "--config", g.Config})
	if err != nil {
		return err
	}
	g.Node = n
	return nil
}

// Serves asks the gateway once whether it serves.
func (g *Gateway) Serves(ctx context.Context) bool { return ready(ctx, g.Admin) }
