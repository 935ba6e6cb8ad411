package check

// Place is where a side of a trial was observed to be. Unknown values are empty.
type Place struct {
	// Host is the name of the host in the experiment file, or of the pod or namespace that was made.
	Host string `json:"host,omitempty"`
	// Node is the Kubernetes node of a pod.
	Node   string `json:"node,omitempty"`
	BootID string `json:"boot_id,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	// Model is the name of the CPUs.
	Model string `json:"model,omitempty"`
	// Device is the network device of the path, Driver its driver.
	Device string `json:"device,omitempty"`
	Driver string `json:"driver,omitempty"`
	// Where is what the metadata service of the cloud said.
	Where *Where `json:"where,omitempty"`
}

// Place is where the host with these facts is. f may be nil.
func (f *Facts) Place(host, node string) Place {
	p := Place{Host: host, Node: node}
	if f == nil {
		return p
	}
	p.BootID, p.Kernel, p.Model, p.Where = f.BootID, f.Kernel, f.Model, f.Where
	if f.Path == nil {
		return p
	}
	p.Device = f.Path.Device
	if on := f.OnPath(); on != nil {
		p.Driver = on.Driver
	}
	return p
}
