package cloudtool

import "fmt"

// AzureInterface is a network interface of Azure, as `az network nic show` and `az vmss show` print it.
type AzureInterface struct {
	Name string `json:"name"`
	// Accelerated is nil if az does not say it.
	Accelerated *bool `json:"enableAcceleratedNetworking"`
}

// AzureScaleSet is the part of the output of `az vmss show` that configures the network.
type AzureScaleSet struct {
	Profile struct {
		Network struct {
			Interfaces []AzureInterface `json:"networkInterfaceConfigurations"`
		} `json:"networkProfile"`
	} `json:"virtualMachineProfile"`
}

// AzureAccelerated says whether accelerated networking is configured for all interfaces, and why that is so. The result
// is nil if an interface does not say it, or if there are none. Configuration proves nothing about the guest.
func AzureAccelerated(all []AzureInterface) (on *bool, evidence string) {
	for _, i := range all {
		switch {
		case i.Accelerated == nil:
			return nil, fmt.Sprintf("interface %.80q does not say enableAcceleratedNetworking", i.Name)
		case !*i.Accelerated:
			return new(false), fmt.Sprintf("enableAcceleratedNetworking of interface %.80q is false", i.Name)
		}
	}
	if len(all) == 0 {
		return nil, "it has no interfaces"
	}
	return new(true), fmt.Sprintf("enableAcceleratedNetworking is true for all %d interfaces", len(all))
}
