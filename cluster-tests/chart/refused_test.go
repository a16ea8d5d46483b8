package chart

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
)

// TestRefused has values that are wrong: helm says which one, and what would be right.
func TestRefused(t *testing.T) {
	c := loadChart(t)
	for _, w := range []struct {
		values string
		there  cluster
		says   string
	}{
		{values: "nodes: {founders: 2}", says: "'/nodes/founders': value must be one of 0, 1, 3, 5"},
		{values: "nodes: {replica: 5}", says: "'/nodes': additional properties 'replica' not allowed"},
		{values: "replicas: 5", says: "additional properties 'replicas' not allowed"},
		{values: "nodes: {options: {inline-registrs: 5}}", says: "'/nodes/options': additional properties 'inline-registrs' not allowed"},
		{values: "nodes: {options: {listen-redis: \":7702\"}}", says: "nodes.options.listen-redis: \":7702\" is no port, or one of 7700 to 7703"},
		{values: "nodes: {options: {listen-redis: \":99999\"}}", says: "nodes.options.listen-redis: \":99999\" is no port"},
		{values: "nodes: {options: {listen-redis: \":0706\"}}", says: "'/nodes/options/listen-redis'"},
		{values: "nodes: {labels: {app.kubernetes.io/name: x}}", says: "nodes.labels: the chart gives the label app.kubernetes.io/name itself"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, labels: {app.kubernetes.io/component: x}}", says: "gateway.labels: the chart gives the label app.kubernetes.io/component itself"},
		{values: "operator: {labels: {app.kubernetes.io/instance: x}}", says: "operator.labels: the chart gives the label app.kubernetes.io/instance itself"},
		{values: "monitoring: {rules: {enabled: true, labels: {helm.sh/chart: x}}}", says: "monitoring.rules.labels: the chart gives the label helm.sh/chart itself"},
		{values: "gateway: {enabled: true, document: {doors: {trusted: [10.0.0.0/8]}}}", says: "gateway.document: it has none of proxy"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, replicas: 5}", says: "gateway.replicas: 5 counts only without gateway.autoscaling, which begins with 2"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, resources: {requests: null}}", says: "gateway.resources.requests.cpu: gateway.autoscaling measures"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, resources: null}", says: "gateway.resources.requests.cpu: gateway.autoscaling measures"},
		{values: "gateway: {enabled: true, document: {proxy: {}, forward_auth: {}}, service: {port: 7782}}", says: "gateway.service.port: 7782 is the port of forward-auth"},
		{values: "nodes: {extraEnv: [{name: POD_NAME, value: x}]}", says: "nodes.extraEnv: the chart gives the variable POD_NAME itself"},
		{values: "nodes: {extraEnv: [{name: JETON_ZONE, value: x}]}", says: "nodes.extraEnv: JETON_ZONE would be an option of jeton serve"},
		{values: "nodes: {extraEnv: [{name: A}, {name: A}]}", says: "nodes.extraEnv: the variable A is there twice"},
		{values: "nodes: {extraEnv: [{value: x}]}", says: "'/nodes/extraEnv/0': missing property 'name'"},
		{values: "nodes: {extraVolumes: [{name: data, emptyDir: {}}]}", says: "nodes.extraVolumes: there is a volume data already"},
		{values: "nodes: {extraVolumeMounts: [{name: x, mountPath: /mnt/x}]}", says: "nodes.extraVolumeMounts: x is no volume of nodes.extraVolumes"},
		{values: "nodes: {extraVolumes: [{name: x, emptyDir: {}}], extraVolumeMounts: [{name: x, mountPath: /etc/jeton/admin/}]}", says: "nodes.extraVolumeMounts: /etc/jeton/admin/ is where other files are"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, extraVolumes: [{name: x, emptyDir: {}}, {name: x, emptyDir: {}}]}", says: "gateway.extraVolumes: there is a volume x already"},
		{values: "nodes: {affinity: {antiAffinity: {}}}", says: "'/nodes/affinity': additional properties 'antiAffinity' not allowed"},
		{values: "serviceAccount: {create: false}", says: "'/serviceAccount': additional properties 'create' not allowed"},
		{values: "nodes: {updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}", says: "'/nodes/updateStrategy/rollingUpdate': additional properties 'maxUnavailable' not allowed"},
		{values: "nodes: {updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}}", says: "nodes.updateStrategy.rollingUpdate: it is for the type RollingUpdate"},
		{values: "gateway: {enabled: true, document: {forward_auth: {}}, ingress: {enabled: true, hosts: [a.example.com]}}", says: "gateway.ingress: it publishes the proxy, and gateway.document has none"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, ingress: {enabled: true}}", says: "'/gateway/ingress/hosts': minItems: got 0, want 1"},
		{values: "gateway: {ingress: {hosts: [\"https://a.example.com\"]}}", says: "'/gateway/ingress/hosts/0'"},
		{values: "enabled: false", says: "'/enabled': value must be true"},
		{values: "image: {pullSecrets: [{nam: x}]}", says: "'/image/pullSecrets/0'"},
		{values: "nodes: {replicas: three}", says: "'/nodes/replicas': got string, want integer"},
		{values: "nodes: {replication: 4}", says: "'/nodes/replication'"},
		{values: "nodes: {durability: none}", says: "'/nodes/durability': value must be one of 'fsync', 'memory'"},
		{values: "nodes: {options: {zone: west}}", says: "nodes.options.zone: the chart gives this option itself: see nodes.zone"},
		{values: "nodes: {options: {--zone: west}}", says: "'/nodes/options': additional properties '--zone' not allowed"},
		{values: "nodes: {zone: {from: fixed}}", says: "'/nodes/zone/value'"},
		{values: "nodes: {zone: {from: node}}", says: "'/nodes/zone/image'"},
		{values: "nodes: {zone: {from: rack}}", says: "'/nodes/zone/from'"},
		{values: "nodes: {maxUnavailable: 2}", says: "'/nodes/maxUnavailable'"},
		{values: "nodes: {persistence: {size: big}}", says: "'/nodes/persistence/size'"},
		{values: "nodes: {drainSeconds: 0}", says: "'/nodes/drainSeconds'"},
		{values: "nodes: {gracePeriodSeconds: 20}", says: "nodes.gracePeriodSeconds: 20 is too short"},
		{values: "gateway: {enabled: true}", says: "'/gateway/document'"},
		{values: "gateway: {enabled: true, gracePeriodSeconds: 20, document: {proxy: {}}}", says: "gateway.gracePeriodSeconds: 20 is too short"},
		{values: "gateway: {enabled: true, service: {type: LoadBalancer}, document: {forward_auth: {}}}", says: "gateway.service.type: LoadBalancer publishes the proxy"},
		{values: "gateway: {enabled: true, document: {proxy: }}", says: "'/gateway/document/proxy': got null, want object"},
		{values: "gateway: {enabled: true, document: {proxy: {}, doors: }}", says: "'/gateway/document/doors': got null, want object"},
		{values: "gateway: {enabled: true, document: {proxy: {listen: \":8080\"}}}", says: "gateway.document.proxy.listen: :8080"},
		{values: "gateway: {enabled: true, document: {proxy: {}, admin: {listen: \"127.0.0.1:7781\"}}}", says: "gateway.document.admin.listen: 127.0.0.1:7781"},
		{values: "gateway: {enabled: true, document: {doors: {redis: \":6379\"}}}", says: "gateway.document.doors.redis: :6379"},
		{values: "gateway: {enabled: true, document: {proxy: {}, cluster: {servers: [\"a:7700\"]}}}", says: "gateway.document.cluster.servers: the chart names the nodes"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, autoscaling: {minReplicas: 11}}", says: "gateway.autoscaling.minReplicas: 11 is more than maxReplicas, 10"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, secrets: [a, a]}", says: "'/gateway/secrets': items at 0 and 1 are equal"},
		{values: "gateway: {enabled: true, document: {proxy: {}}}\ntls: {secret: nodes}", says: "tls.secret and tls.gatewaySecret"},
		{values: "gateway: {enabled: true, document: {proxy: {}}}\ntls: {gatewaySecret: gateways}", says: "tls.secret and tls.gatewaySecret"},
		{values: "nodes: {options: {help: true}}", says: "nodes.options.help"},
		{values: "limits: {apply: true}", says: "'/limits/document'"},
		{values: "limits: {document: {api: {capacity: 1}}}", says: "'/limits/document': additional properties 'api' not allowed"},
		{values: "image: {digest: latest}", says: "'/image/digest'"},
		{values: "nodes: {founders: 1}", says: "nodes.founders: 1 founds a cluster of one node, and nodes.replicas is 3"},
		{values: "nodes: {replicas: 2}", says: "nodes.replicas: 2 nodes keep each register once"},
		{values: "nodes: {replicas: 2, founders: 0}", says: "nodes.replicas: 2 nodes keep each register once"},
		{values: "nodes: {replicas: 4, founders: 5}", says: "nodes.founders: 5 nodes found the cluster together, and nodes.replicas is 4"},
		{values: "nodes: {replicas: 1, founders: 0}", there: ofNodes(3), says: "nodes.replicas: 1 is fewer than three"},
		{values: "nodes: {replicas: 6}", says: "nodes.replicas: 6 empty nodes could found two clusters"},
		{values: "monitoring: {serviceMonitor: {enabled: true}}", says: "networkPolicy.monitoring: says nobody"},
		{values: "service: {type: LoadBalancer}", says: "networkPolicy.callers: says nobody, and service.type is LoadBalancer"},
		{values: "service: {loadBalancerClass: internal}", says: "service.type: ClusterIP has no load balancer"},
		{values: "gateway: {enabled: true, document: {proxy: {}}, service: {type: NodePort, loadBalancerSourceRanges: [10.0.0.0/8]}}", says: "gateway.service.type: NodePort has no load balancer"},
		{values: "service: {loadBalancerSourceRanges: [everybody]}", says: "'/service/loadBalancerSourceRanges/0'"},
		{values: "networkPolicy: {callers: [{}]}", says: "'/networkPolicy/callers/0'"},
	} {
		values, err := chartutil.ReadValues([]byte(w.values))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := render(c, values, w.there); err == nil || !strings.Contains(err.Error(), w.says) {
			t.Errorf("%s: want a refusal that says %q, not: %v", w.values, w.says, err)
		}
	}
}

// A cluster that is there grows and shrinks, by whatever number of nodes it was founded.
func TestFoundedBefore(t *testing.T) {
	for _, values := range []string{"nodes: {replicas: 6}", "nodes: {replicas: 3, founders: 5}"} {
		if _, err := tryWith(t, ofNodes(5), values); err != nil {
			t.Errorf("%s, where five nodes run: %v", values, err)
		}
	}
}
