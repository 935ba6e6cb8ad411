package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxPods is the greatest length in bytes of what a recorded arm says of its pods, as JSON. A file within its limits
// has less.
const maxPods = 8 << 20

// checkPods bounds the texts of a recorded arm's pods.
func (k *Kubernetes) checkPods() error {
	if n := len(written(k)); n > maxPods {
		return fmt.Errorf("its pods take %d bytes; at most %d", n, maxPods)
	}
	return nil
}

// checkRunnablePods checks the pods of a recorded arm as the reader does: it writes them as a file has them, and reads
// that.
func (a Arm) checkRunnablePods(tools Tools) error {
	var document yaml.Node
	text := escaped(written(a.Kubernetes.file()))
	if err := yaml.Load([]byte(text), &document); err != nil || len(document.Content) != 1 {
		return errors.New("its pods cannot be read")
	}
	r := newReader("", nil, tools, Inputs{})
	arm := fields{what: "the arm", named: map[string]field{}}
	for side, name := range map[string]string{"client": a.Client, "server": a.Server} {
		if name != "" {
			arm.named[side] = field{}
		}
	}
	top := document.Content[0]
	again := r.kubernetes(arm, field{top, top})
	if len(r.mistakes) > 0 {
		return errors.New(r.mistakes[0].Message)
	}
	if written(again) != written(a.Kubernetes) {
		return errors.New("its pods are not as a file makes them")
	}
	return nil
}

// escaped writes the characters of a JSON text that YAML does not read in plain as escapes of YAML. They stand only
// between quotes.
func escaped(text string) string {
	var out strings.Builder
	for _, c := range text {
		if c < 0x7f {
			out.WriteRune(c)
		} else {
			fmt.Fprintf(&out, "\\U%08X", c)
		}
	}
	return out.String()
}

// file gives the value that the key kubernetes of a file has for this arm.
func (k *Kubernetes) file() map[string]any {
	f := map[string]any{"ready": FormatDuration(k.Ready)}
	put(f, "context", k.Context)
	put(f, "namespace", k.Namespace)
	put(f, "nodes", k.Nodes)
	put(f, "networkPolicy", k.Policy)
	if k.Server != nil || k.Through != ThroughPod {
		put(f, "through", k.Through)
	}
	if k.Service != nil {
		service := map[string]any{}
		put(service, "loadBalancerClass", k.Service.LoadBalancerClass)
		if len(k.Service.Annotations) > 0 {
			service["annotations"] = maps.Clone(k.Service.Annotations)
		}
		f["service"] = service
	}
	if k.Client != nil {
		f["client"] = k.Client.file()
	}
	if k.Server != nil {
		f["server"] = k.Server.file()
	}
	return f
}

func (p *Pod) file() map[string]any {
	f := map[string]any{}
	put(f, "node", p.Node)
	put(f, "zone", p.Zone)
	put(f, "image", p.Image)
	put(f, "agentImage", p.AgentImage)
	put(f, "runtimeClassName", p.RuntimeClass)
	put(f, "priorityClassName", p.PriorityClass)
	put(f, "schedulerName", p.Scheduler)
	put(f, "os", p.OS)
	put(f, "interface", p.Interface)
	if p.HostNetwork {
		f["hostNetwork"] = true
	}
	if p.Port != 0 {
		f["port"] = p.Port
	}
	if len(p.ImagePullSecrets) > 0 {
		f["imagePullSecrets"] = p.ImagePullSecrets
	}
	for key, all := range map[string]map[string]string{
		"nodeSelector": p.NodeSelector, "annotations": p.Annotations, "labels": p.Labels, "tools": p.Tools,
	} {
		if len(all) > 0 {
			f[key] = maps.Clone(all)
		}
	}
	for key, part := range map[string]json.RawMessage{
		"affinity": p.Affinity, "tolerations": p.Tolerations, "resources": p.Resources,
		"securityContext": p.SecurityContext,
	} {
		if len(part) > 0 {
			f[key] = part
		}
	}
	return f
}

func put(f map[string]any, key, text string) {
	if text != "" {
		f[key] = text
	}
}
