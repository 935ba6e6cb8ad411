package experiment

import "slices"

// A condition is a value of a workload that says how, and not what it measures: name is what messages call it. Keys
// with one name have one value together.
type condition func(w Workload) (name string, value any)

// inSockets is for keys that say how sockets are used.
func inSockets(w Workload) (string, any) { return "sockets", w.Socket }

// noCondition is for a key that has no influence on a measurement.
func noCondition(Workload) (string, any) { return "", nil }

// Conditions gives the values that can influence the figures of workloads that measure the same thing, in the same
// order for all workloads.
func (w Workload) Conditions() []Part {
	var parts []Part
	for _, k := range Keys() {
		if k.apart == nil {
			continue
		}
		name, value := k.apart(w)
		if name != "" && !slices.ContainsFunc(parts, func(p Part) bool { return p.Name == name }) {
			parts = append(parts, Part{k.Name, name, value})
		}
	}
	return parts
}

// Without gives the workload without those of its conditions that these keys set.
func (w Workload) Without(keys []string) Workload {
	for _, k := range Keys() {
		if k.reset != nil && slices.Contains(keys, k.Name) {
			k.reset(&w)
		}
	}
	return w
}
