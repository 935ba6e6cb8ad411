package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/cloud/cloudtool"
	"nearfar/internal/declare/check"
)

// Identifiers of Azure's resources. The parts are the subscription, the resource group, the kind and the name. A
// machine of a scale set has its number behind the name of the set.
const (
	azIn = `/subscriptions/([0-9a-f-]{1,40})/resourceGroups/([a-z0-9_(][a-z0-9_.()-]{0,89})` +
		`/providers/Microsoft\.`
	azName = `([a-z0-9_][a-z0-9_.-]{0,79})`
	// azInterfaces is the greatest number of interfaces of a machine that az is asked about.
	azInterfaces = 8
)

var (
	azMachine = lazyregexp.New(`(?i)^(` + azIn + `Compute/(virtualMachines|virtualMachineScaleSets)/` + azName + `)` +
		`(/virtualMachines/[0-9]{1,10})?$`)
	azGroupID     = lazyregexp.New(`(?i)^` + azIn + `Compute/proximityPlacementGroups/` + azName + `$`)
	azInterfaceID = lazyregexp.New(`(?i)^` + azIn + `Network/networkInterfaces/` + azName + `$`)
)

// resource names a resource of Azure.
type resource struct{ subscription, group, name string }

func (r resource) arguments() []string {
	return []string{"--subscription", r.subscription, "--resource-group", r.group, "--name", r.name}
}

// azShow asks for a machine (vm) or a scale set (vmss).
func azShow(kind string, r resource) []string {
	return slices.Concat([]string{"az", kind, "show"}, r.arguments(), azOutput())
}

func azGroup(r resource) []string {
	return slices.Concat([]string{"az", "ppg", "show"}, r.arguments(), []string{"--include-colocation-status"},
		azOutput())
}

func azInterface(r resource) []string {
	return slices.Concat([]string{"az", "network", "nic", "show"}, r.arguments(), azOutput())
}

func azOutput() []string { return []string{"--only-show-errors", "--output", "json"} }

// azure asks for the proximity placement group of a machine or of its scale set, for the colocation status of the
// group and of the machine, and for the configuration of accelerated networking.
func (q *question) azure(ctx context.Context, w *check.Where) error {
	part := azMachine.FindStringSubmatch(w.ResourceID)
	isSet := part != nil && strings.EqualFold(part[4], "virtualMachineScaleSets")
	if part == nil || isSet != (part[6] != "") {
		return errors.New("the metadata service tells no identifier that az could be asked about")
	}
	kind, what := "vm", "machine"
	if isSet {
		kind, what = "vmss", "scale set"
	}
	var machine struct {
		ID                                      string
		VMID                                    string `json:"vmId"`
		ProximityPlacementGroup                 *struct{ ID string }
		AvailabilitySet, VirtualMachineScaleSet *struct{ ID string }
		NetworkProfile                          struct{ NetworkInterfaces []struct{ ID string } }
		cloudtool.AzureScaleSet
	}
	argv := azShow(kind, resource{part[2], part[3], part[5]})
	if err := q.read(ctx, argv, &machine); err != nil {
		return err
	}
	if !strings.EqualFold(machine.ID, part[1]) || !isSet && !strings.EqualFold(machine.VMID, w.InstanceID) {
		return fmt.Errorf("%s shows another machine", cloudtool.Name(argv...))
	}
	q.answer.Configured = what + " " + part[5]
	var problems []error
	none := ""
	switch {
	case machine.ProximityPlacementGroup != nil:
		problems = append(problems, q.azureGroup(ctx, machine.ProximityPlacementGroup.ID, part[1]))
	case machine.AvailabilitySet != nil || machine.VirtualMachineScaleSet != nil:
		// A group can be assigned to the set, and then covers its machines (Azure's documentation, "Proximity placement
		// groups").
		problems = append(problems, fmt.Errorf("%s names no proximity placement group, but the set of the machine can "+
			"be in one, and is not asked about", cloudtool.Name(argv...)))
	default:
		q.answer.Group = &none
	}
	interfaces := machine.Profile.Network.Interfaces
	if !isSet {
		var ids []string
		for _, i := range machine.NetworkProfile.NetworkInterfaces {
			ids = append(ids, i.ID)
		}
		var err error
		interfaces, err = q.azureInterfaces(ctx, ids)
		problems = append(problems, err)
	}
	q.answer.Accelerated, _ = cloudtool.AzureAccelerated(interfaces)
	return errors.Join(problems...)
}

// azureInterfaces reads the interfaces of a machine, or none if one of them cannot be read.
func (q *question) azureInterfaces(ctx context.Context, ids []string) ([]cloudtool.AzureInterface, error) {
	if len(ids) > azInterfaces {
		return nil, fmt.Errorf("the machine has %d interfaces; az is asked about %d at most", len(ids), azInterfaces)
	}
	var all []cloudtool.AzureInterface
	for _, id := range ids {
		part := azInterfaceID.FindStringSubmatch(id)
		if part == nil {
			return nil, errors.New("az names a network interface that it cannot be asked about")
		}
		var shown struct {
			ID string
			cloudtool.AzureInterface
		}
		argv := azInterface(resource{part[1], part[2], part[3]})
		if err := q.read(ctx, argv, &shown); err != nil {
			return nil, err
		}
		if !strings.EqualFold(shown.ID, id) {
			return nil, fmt.Errorf("%s shows another interface", cloudtool.Name(argv...))
		}
		all = append(all, shown.AzureInterface)
	}
	return all, nil
}

// azureGroup reads the colocation status of a group and of one of its resources. The group must list the
// resource itself; otherwise the answer has no group.
func (q *question) azureGroup(ctx context.Context, id, of string) error {
	part := azGroupID.FindStringSubmatch(id)
	if part == nil {
		return errors.New("az names a proximity placement group that it cannot be asked about")
	}
	type listed struct {
		ID               string
		ColocationStatus *struct{ Code string }
	}
	var group struct {
		listed
		VirtualMachines, VirtualMachineScaleSets []listed
	}
	argv := azGroup(resource{part[1], part[2], part[3]})
	if err := q.read(ctx, argv, &group); err != nil {
		return err
	}
	if !strings.EqualFold(group.ID, id) {
		return fmt.Errorf("%s shows another group", cloudtool.Name(argv...))
	}
	members := slices.Concat(group.VirtualMachines, group.VirtualMachineScaleSets)
	at := slices.IndexFunc(members, func(m listed) bool { return strings.EqualFold(m.ID, of) })
	if at < 0 {
		return fmt.Errorf("%s does not list the machine", cloudtool.Name(argv...))
	}
	status := func(l listed) string {
		if l.ColocationStatus == nil {
			return ""
		}
		return text(strings.TrimPrefix(l.ColocationStatus.Code, "ColocationStatus/"))
	}
	q.answer.Group = &id
	q.answer.GroupColocation, q.answer.Colocation = status(group.listed), status(members[at])
	return nil
}
