package check

import "fmt"

// AcceleratedDevices says whether a machine has what accelerated networking of Azure needs: a virtual function that is
// enslaved to each synthetic device. Proved means that the functions are there. That packets use them is proved by
// counters of a trial alone (Judge).
func (f *Facts) AcceleratedDevices() (outcome Outcome, evidence string) {
	for i := range f.Devices {
		on := &f.Devices[i]
		if on.Driver != netvsc {
			continue
		}
		vf := f.function(on)
		if vf == nil {
			return Refuted, fmt.Sprintf("no virtual function is enslaved to %s (%s)", on.Name, netvsc)
		}
		outcome = Proved
		evidence = fmt.Sprintf("the virtual function %s (%s) is enslaved to %s", vf.Name, vf.Driver, on.Name)
	}
	if outcome == "" {
		return Unknown, "it has no device with the driver " + netvsc
	}
	return outcome, evidence
}
