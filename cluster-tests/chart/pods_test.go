package chart

import (
	"fmt"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// A podOf is what an object says of its pods.
type podOf struct {
	object

	labels, annotations map[string]string
	spec                core.PodSpec
	claimed             []string // names of volumes that are claimed
}

// podsOf are those of all objects.
func podsOf(all []object) (pods []podOf, err error) {
	for _, o := range all {
		p := podOf{object: o}
		switch o.GetKind() {
		case "StatefulSet":
			var of apps.StatefulSet
			err = strictYAML(o.text, &of)
			p.labels, p.annotations, p.spec = of.Spec.Template.Labels, of.Spec.Template.Annotations, of.Spec.Template.Spec
			for _, c := range of.Spec.VolumeClaimTemplates {
				p.claimed = append(p.claimed, c.Name)
			}
		case "Deployment":
			var of apps.Deployment
			err = strictYAML(o.text, &of)
			p.labels, p.annotations, p.spec = of.Spec.Template.Labels, of.Spec.Template.Annotations, of.Spec.Template.Spec
		case "Job":
			var of batch.Job
			err = strictYAML(o.text, &of)
			p.labels, p.annotations, p.spec = of.Spec.Template.Labels, of.Spec.Template.Annotations, of.Spec.Template.Spec
		case "Pod":
			var of core.Pod
			err = strictYAML(o.text, &of)
			p.labels, p.annotations, p.spec = of.Labels, of.Annotations, of.Spec
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o, err)
		}
		pods = append(pods, p)
	}
	return pods, nil
}

// containers are all of a pod, those that run first too.
func (p podOf) containers() []core.Container {
	return append(append([]core.Container(nil), p.spec.InitContainers...), p.spec.Containers...)
}

// port is the number of a port that the pod names; false if it names none so.
func (p podOf) port(name string) (int32, bool) {
	for _, c := range p.containers() {
		for _, port := range c.Ports {
			if port.Name == name {
				return port.ContainerPort, true
			}
		}
	}
	return 0, false
}

// selected are the pods with these labels, in any other company.
func selected(pods []podOf, labels map[string]string) (found []podOf) {
	for _, p := range pods {
		fits := len(labels) > 0
		for key, value := range labels {
			fits = fits && p.labels[key] == value
		}
		if fits {
			found = append(found, p)
		}
	}
	return found
}
