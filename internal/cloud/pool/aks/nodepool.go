package aks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A NodePool is what az says about a pool, as far as it is used.
type NodePool struct {
	Name              string            `json:"name"`
	ProvisioningState string            `json:"provisioningState"`
	Count             int               `json:"count"`
	Autoscaling       bool              `json:"enableAutoScaling"`
	MinCount          int               `json:"minCount"`
	MaxCount          int               `json:"maxCount"`
	MaxPods           int               `json:"maxPods"`
	Taints            []string          `json:"nodeTaints"`
	Labels            map[string]string `json:"nodeLabels"`
	VMSize            string            `json:"vmSize"`
	Zones             []string          `json:"availabilityZones"`
	OSType            string            `json:"osType"`
	OSSKU             string            `json:"osSku"`
	Mode              string            `json:"mode"`
	Subnet            string            `json:"vnetSubnetId"`
	PodSubnet         string            `json:"podSubnetId"`
	Version           string            `json:"currentOrchestratorVersion"`
	AskedVersion      string            `json:"orchestratorVersion"`
	Tags              map[string]string `json:"tags"`
	OSDiskSize        int               `json:"osDiskSizeGb"`
	OSDiskType        string            `json:"osDiskType"`
	Priority          string            `json:"scaleSetPriority"`
	EvictionPolicy    string            `json:"scaleSetEvictionPolicy"`
	SpotMaxPrice      float64           `json:"spotMaxPrice"`
	PublicIP          bool              `json:"enableNodePublicIp"`
	EncryptionAtHost  bool              `json:"enableEncryptionAtHost"`
	FIPS              bool              `json:"enableFips"`
	UltraSSD          bool              `json:"enableUltraSsd"`
	Proximity         string            `json:"proximityPlacementGroupId"`
	HostGroup         string            `json:"hostGroupId"`
	Upgrade           struct {
		MaxSurge string `json:"maxSurge"`
	} `json:"upgradeSettings"`

	// Rest are settings that are not taken over, with their values in JSON. Empty ones are left out.
	Rest map[string]string `json:"-"`
}

// ignored are keys that say what a pool is, not what it was asked to be.
func ignored() []string {
	return []string{"id", "type", "typePropertiesType", "resourceGroup", "eTag", "etag", "powerState",
		"nodeImageVersion", "status", "systemData", "properties"}
}

// defaults are values that az shows for pools that were not given any. A setting inside of another one has its path:
// securityProfile.sshAccess. testdata/current.json has what az shows of a pool without any setting.
func defaults() map[string]string {
	return map[string]string{
		"kubeletDiskType": `"OS"`, "scaleDownMode": `"Delete"`, "workloadRuntime": `"OCIContainer"`,
		"gpuProfile.driver": `"Install"`, "upgradeStrategy": `"Rolling"`, "securityProfile.sshAccess": `"LocalUser"`,
		"upgradeSettings.maxUnavailable": `"0"`, "upgradeSettings.undrainableNodeBehavior": `"Schedule"`,
	}
}

// maxPools is more than a cluster can have.
const maxPools = 1000

// ParseList reads the output of `az aks nodepool list`.
func ParseList(data []byte) ([]NodePool, error) {
	if len(data) > maxOutput {
		return nil, fmt.Errorf("the list of pools is longer than %d bytes", maxOutput)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("the list of pools: %w", err)
	}
	if len(raw) > maxPools {
		return nil, fmt.Errorf("the list has %d pools", len(raw))
	}
	var pools []NodePool
	for _, r := range raw {
		p, err := parsePool(r)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(pools, func(o NodePool) bool { return o.Name == p.Name }) {
			return nil, fmt.Errorf("the list has pool %s twice", p.Name)
		}
		pools = append(pools, p)
	}
	return pools, nil
}

func parsePool(data []byte) (NodePool, error) {
	var p NodePool
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &all); err != nil {
		return p, fmt.Errorf("a pool: %w", err)
	}
	// Azure's own API has most settings one level below; az shows them at the level of the name.
	if below, ok := all["properties"]; ok {
		inner := map[string]json.RawMessage{}
		if err := json.Unmarshal(below, &inner); err != nil {
			return p, fmt.Errorf("the properties of a pool: %w", err)
		}
		delete(all, "properties")
		for key, value := range inner {
			if key == "type" {
				key = "typePropertiesType"
			}
			all[key] = value
		}
	}
	flat, err := json.Marshal(all)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(flat, &p); err != nil {
		return p, fmt.Errorf("a pool: %w", err)
	}
	if err := CheckName(p.Name, ""); err != nil {
		return p, err
	}
	p.Rest = rest(all)
	return p, p.check()
}

// rest lists the settings that are not taken over.
func rest(all map[string]json.RawMessage) map[string]string {
	fields := map[string]json.RawMessage{}
	if text, err := json.Marshal(NodePool{}); err == nil {
		_ = json.Unmarshal(text, &fields) // it was just written
	}
	known := map[string]bool{}
	for key := range fields {
		known[strings.ToLower(key)] = true // as the reader of JSON compares
	}
	left := map[string]string{}
	for key, value := range all {
		var compact bytes.Buffer
		if json.Compact(&compact, value) != nil {
			continue // all of it was read as JSON before
		}
		text := chosen(key, compact.String())
		if key != upgradeSettings && known[strings.ToLower(key)] {
			continue
		}
		if slices.Contains(ignored(), key) || empty(text) || defaults()[key] == text {
			continue
		}
		left[key] = text
	}
	return left
}

// upgradeSettings has the surge, which is taken over, and other settings.
const upgradeSettings = "upgradeSettings"

// chosen is a setting without those inside of it that are empty, have their default, or are taken over.
func chosen(key, text string) string {
	inner := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(text), &inner) != nil {
		return text
	}
	if key == upgradeSettings {
		delete(inner, "maxSurge")
	}
	maps.DeleteFunc(inner, func(name string, v json.RawMessage) bool {
		return empty(string(v)) || defaults()[key+"."+name] == string(v)
	})
	left, err := json.Marshal(inner)
	if err != nil {
		return text
	}
	return string(left)
}

// empty says that a value in JSON is the value of a setting that was not set.
func empty(text string) bool {
	if slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, text) {
		return true
	}
	settings := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(text), &settings) != nil {
		return false
	}
	for _, v := range settings {
		if !empty(string(v)) {
			return false
		}
	}
	return true
}

// check refuses values that no pool has.
func (p *NodePool) check() error {
	if p.Count < 0 || p.Count > 1000 || p.MinCount < 0 || p.MaxCount < 0 || p.MaxCount > 1000 || p.MaxPods < 0 ||
		p.MaxPods > 10_000 || p.OSDiskSize < 0 || p.OSDiskSize > 1<<20 {
		return fmt.Errorf("pool %s has a number that no pool has", p.Name)
	}
	if p.OSType != "" && p.OSType != "Linux" && p.OSType != windows {
		return fmt.Errorf("pool %s has the system %q", p.Name, p.OSType)
	}
	return nil
}

// tag is the tag that marks a pool of a migration.
const tag = "nearfar-migration"

// reserved is the prefix of labels and taints that Azure sets itself.
const reserved = "kubernetes.azure.com/"

// AddArgs are the arguments of `az aks nodepool add` that make a pool like this one, without the cluster, the name and
// the mark of the migration. If size is empty, it is the size of this pool.
func (p *NodePool) AddArgs(size string) ([]string, error) {
	a := &arguments{}
	count := p.Count
	if p.Autoscaling {
		count = min(max(count, p.MinCount), p.MaxCount)
	}
	a.number("--node-count", count)
	a.word("--kubernetes-version", cmp.Or(p.Version, p.AskedVersion))
	if p.Autoscaling {
		a.args = append(a.args, "--enable-cluster-autoscaler")
		a.number("--min-count", p.MinCount)
		a.number("--max-count", p.MaxCount)
	}
	if p.MaxPods > 0 {
		a.number("--max-pods", p.MaxPods)
	}
	a.word("--node-vm-size", cmp.Or(size, p.VMSize))
	a.word("--os-type", p.OSType)
	a.word("--os-sku", p.OSSKU)
	a.word("--mode", p.Mode)
	a.list("--zones", p.Zones)
	a.word("--vnet-subnet-id", p.Subnet)
	a.word("--pod-subnet-id", p.PodSubnet)
	taints := slices.DeleteFunc(slices.Clone(p.Taints), func(t string) bool { return strings.HasPrefix(t, reserved) })
	if len(taints) > 0 {
		for _, t := range taints {
			a.check("a taint", t)
		}
		a.args = append(a.args, "--node-taints", strings.Join(taints, ","))
	}
	a.pairs("--labels", p.Labels)
	if p.OSDiskSize > 0 {
		a.number("--node-osdisk-size", p.OSDiskSize)
	}
	a.word("--node-osdisk-type", p.OSDiskType)
	if p.Priority == "Spot" {
		a.word("--priority", p.Priority)
		a.word("--eviction-policy", p.EvictionPolicy)
		if p.SpotMaxPrice > 0 {
			a.word("--spot-max-price", strconv.FormatFloat(p.SpotMaxPrice, 'f', -1, 64))
		}
	}
	a.flag("--enable-node-public-ip", p.PublicIP)
	a.flag("--enable-encryption-at-host", p.EncryptionAtHost)
	a.flag("--enable-fips-image", p.FIPS)
	a.flag("--enable-ultra-ssd", p.UltraSSD)
	a.word("--ppg", p.Proximity)
	a.word("--host-group-id", p.HostGroup)
	a.word("--max-surge", p.Upgrade.MaxSurge)
	// The mark is added to these when the pool is asked for.
	a.pairs("--tags", p.Tags)
	return a.args, errors.Join(a.problems...)
}

// arguments builds a command line of untrusted values.
type arguments struct {
	args     []string
	problems []error
}

// check refuses values that az would take for a flag, or that no setting has.
func (a *arguments) check(what, value string) {
	const most = 1000
	if value == "" || len(value) > most || value[0] == '-' || value[0] == '@' ||
		strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		a.problems = append(a.problems, fmt.Errorf("%s of the pool is %q, which cannot be given to az", what, value))
	}
}

func (a *arguments) word(flag, value string) {
	if value != "" {
		a.check(flag, value)
		a.args = append(a.args, flag, value)
	}
}

func (a *arguments) number(flag string, n int) { a.args = append(a.args, flag, strconv.Itoa(n)) }

func (a *arguments) flag(flag string, set bool) {
	if set {
		a.args = append(a.args, flag)
	}
}

func (a *arguments) list(flag string, values []string) {
	if len(values) == 0 {
		return
	}
	a.args = append(a.args, flag)
	for _, v := range values {
		a.check(flag, v)
		a.args = append(a.args, v)
	}
}

func (a *arguments) pairs(flag string, pairs map[string]string) {
	var values []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		// Azure sets these, and the mark of an earlier migration is not for this pool.
		if strings.HasPrefix(key, reserved) || strings.HasPrefix(key, "aks-managed-") || key == tag {
			continue
		}
		values = append(values, key+"="+pairs[key])
	}
	a.list(flag, values)
}
