package experiment

// KeysOf are the keys of a mapping of the file, by what the mapping is. Those of workloads follow from Keys. Pods and
// what is passed on to Kubernetes (core/v1) have keys as in manifests.
func KeysOf(mapping string) []string {
	switch mapping {
	case "experiment":
		return []string{"nearfar", "name", "question", "baseline", "hosts", "provision", "arms", "workloads", "placement",
			"schedule", "asked_about", "additive_within", "objectives", "unproved", "ask_providers"}
	case "schedule":
		return []string{"blocks", "baseline_repeats", "retries", "seed", "deployments"}
	case "arm":
		return []string{"lab", "kubernetes", "client", "server", "layers", "expect", "set",
			"tofu"} // known, and not supported
	case "lab":
		return []string{"path", "mtu"}
	case Firewall:
		return []string{"rules"}
	case Wire:
		return []string{"delay", "rate", "loss"}
	case "placement":
		return []string{"client", "server"}
	case "step":
		return []string{"rate", "for"}
	case "ready":
		return []string{"tcp", "udp", "command", "within"}
	case "metric":
		return []string{"json", "regex", "exit_time", "lines", "hdr", "unit", "better"}
	case "host":
		return append(hostKinds(), "address", "address6", "bind", "port", "folder", "command", "sudo", "nat", "silence",
			"tools")
	case "provision":
		return append(KeysOf("maker"), "variables", "ttl", "retry", "replace", "prices")
	case "maker": // for the folder of what makes the machines; one of them is given
		return []string{"tofu", "az", "cdk"}
	case "retry":
		return []string{"variables", "wait", "attempts"}
	case "kubernetes":
		return []string{"context", "namespace", "client", "server", "nodes", "through", "service", "networkPolicy",
			"watchKernel", "ready"}
	case "service":
		return []string{"annotations", "loadBalancerClass"}
	case "pod":
		return []string{"node", "nodeSelector", "zone", "affinity", "tolerations", "hostNetwork", "image", "agentImage",
			"imagePullSecrets", "resources", "annotations", "labels", "runtimeClassName", "priorityClassName",
			"schedulerName", "securityContext", "os", "interface", "port", "tools"}
	case "affinity":
		return []string{"nodeAffinity", "podAffinity", "podAntiAffinity"}
	case "nodeAffinity", "podAffinity", "podAntiAffinity":
		return []string{"requiredDuringSchedulingIgnoredDuringExecution",
			"preferredDuringSchedulingIgnoredDuringExecution"}
	case "tolerations":
		return []string{"key", "operator", "value", "effect", "tolerationSeconds"}
	case "resources":
		return []string{"requests", "limits"}
	case "securityContext":
		return []string{"allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged", "procMount",
			"readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile",
			"windowsOptions"}
	}
	return nil
}

// Keys whose values have the same form are lists, which the reader and the rules go through.

// A TextKey is a key whose value is a text with a rule of its own.
type TextKey struct {
	Name, Example string
	Into          *string
	check         func(string) error
	// Plain says that a text without quotes which YAML reads as a number is the text.
	Plain bool
}

// texts checks texts.
func (c *Checker) texts(keys []TextKey) {
	for _, k := range keys {
		if *k.Into != "" || c.given(k.Name) {
			c.refuse(AtValue(k.Name), k.check(*k.Into))
		}
	}
}

// A NumberKey is a key whose value is a whole number.
type NumberKey struct {
	Name   string
	Into   *int
	Limits Range
}

// numbers checks whole numbers. 0 can stand for none where the file does not give it.
func (c *Checker) numbers(keys []NumberKey) {
	for _, k := range keys {
		if *k.Into != 0 || c.given(k.Name) {
			c.whole(AtValue(k.Name), k.Name, *k.Into, k.Limits)
		}
	}
}

// A WordKey is a key whose value is one of some words.
type WordKey struct {
	Name  string
	Into  *string
	Known []string
	// always says that a value is there, too, if the file gives none.
	always bool
}

// words checks words.
func (c *Checker) words(keys []WordKey) {
	for _, k := range keys {
		if *k.Into != "" || k.always || c.given(k.Name) {
			c.word(AtValue(k.Name), k.Name, *k.Into, k.Known)
		}
	}
}
