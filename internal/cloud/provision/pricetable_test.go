package provision

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
)

func readTableOf(t *testing.T) table {
	t.Helper()
	all, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every figure of the table says where it is from, and when it was right. None is there twice.
func TestPricesHaveSources(t *testing.T) {
	all := readTableOf(t)
	seen := map[string]bool{}
	for _, p := range all.prices {
		if _, err := time.Parse(time.DateOnly, p.Date); err != nil || p.Hourly <= 0 ||
			!strings.HasPrefix(p.Source, "https://") {
			t.Errorf("%+v", p)
		}
		isMachine := slices.Contains([]string{"aws", "azurerm", "google"}, p.Type)
		attributes, billed := billedTypes()[p.Type]
		switch {
		case isMachine:
			if p.System != systemLinux && p.System != systemWindows || p.Size == "" || p.Region == "" || p.PerGiB {
				t.Errorf("%+v is no price of a machine", p)
			}
		case !billed || p.System != "" || p.PerGiB != (attributes.gib != ""):
			t.Errorf("%+v is not looked for", p)
		}
		key := fmt.Sprint(p.Type, " ", p.System, " ", strings.ToLower(p.Size), " ", p.Region)
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
	}
	for _, b := range all.betweenZones {
		_, err := time.Parse("2006-01", b.Date)
		if err != nil || b.PerGB < 0 || !strings.HasPrefix(b.Source, "https://") {
			t.Errorf("%+v", b)
		}
	}
}

// units splits a size into its series and the number of its CPUs, or another number that grows as they do; 0 for sizes
// whose names have none.
func units(t *testing.T, size string) (series string, n float64) {
	t.Helper()
	if name, xlarge, isEC2 := strings.Cut(size, "."); isEC2 {
		number, _ := strings.CutSuffix(xlarge, "xlarge")
		switch xlarge {
		case "medium":
			return name, 0.25
		case "large":
			return name, 0.5
		case "xlarge":
			return name, 1
		case "metal":
			return "", 0
		}
		return name, parse(t, number)
	}
	// In Azure's second series, the number is none of CPUs.
	if regexp.MustCompile(`_DS?\d_v2$`).MatchString(size) {
		return "", 0
	}
	parts := regexp.MustCompile(`^(\D+|\w\d-\w+-)(\d+)([a-z]*_v\d)?$`).FindStringSubmatch(size)
	if parts == nil {
		t.Fatalf("%s is a size of an unknown kind", size)
	}
	return parts[1] + parts[3], parse(t, parts[2])
}

func parse(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Machines of one series cost in proportion to their CPUs, up to the rounding of what was published: this finds a wrong
// digit. Windows costs more than Linux, because of its licence: this finds a price in the wrong sheet.
func TestPricesFitTogether(t *testing.T) {
	all := readTableOf(t)
	perUnit := map[string]float64{}
	for _, p := range all.prices {
		if p.System == "" {
			continue
		}
		linux := all.find(p.Type, systemLinux, p.Size, p.Region)
		if p.System == systemWindows && (linux == nil || linux.Hourly >= p.Hourly) {
			t.Errorf("%+v costs less than %+v", p, linux)
		}
		series, n := units(t, p.Size)
		if n == 0 {
			continue
		}
		key := strings.Join([]string{p.Type, p.System, p.Region, series}, " ")
		if one, ok := perUnit[key]; ok && max(one, p.Hourly/n) > 1.001*min(one, p.Hourly/n) {
			t.Errorf("%+v costs %v for a unit, and others of %s cost %v", p, p.Hourly/n, key, one)
		}
		perUnit[key] = p.Hourly / n
	}
	if len(perUnit) < 25 {
		t.Errorf("only %d series are compared", len(perUnit))
	}
}

// labMachines says where and with which systems a lab makes its machines.
type labMachines struct {
	provider string
	regions  []string
	systems  []string
}

// labRegions are the regions of the labs' files. On AWS, the region is the user's own.
func labRegions() map[string]labMachines {
	both := []string{systemLinux, systemWindows}
	return map[string]labMachines{
		"azure-ppg":                  {"azurerm", []string{"australiaeast", "westeurope"}, both},
		"azure-zones":                {"azurerm", []string{"westeurope", "northeurope"}, both[:1]},
		"aks-accelerated-networking": {"azurerm", []string{"westeurope"}, both},
		"ec2-placement-group":        {"aws", []string{"us-east-1", "eu-west-1"}, both[:1]},
		"eks-placement-group":        {"aws", []string{"us-east-1", "eu-west-1"}, both[:1]},
		"gcp-compact-placement":      {"google", []string{"europe-west4"}, both[:1]},
	}
}

// notPriced are regions and systems for which no dated source was found.
func notPriced() map[string]string {
	return map[string]string{
		"azurerm windows australiaeast": "the source of this region has Linux alone",
		"azurerm linux northeurope":     "only the last of the retries is made there",
		"aws linux eu-west-1":           "the source has us-east-1 alone",
	}
}

// Every size that a lab names is in the table, or its region and system are listed with a reason.
func TestSizesOfLabsHavePrices(t *testing.T) {
	all := readTableOf(t)
	const labs = "../../../labs"
	size := regexp.MustCompile(
		`\bStandard_[A-Z]+\d+[a-z]*(_v\d+)?\b|\b[a-z]\d+[a-z]*\.\d*(x?large|medium|metal)\b|\b[a-z]\d[a-z]?-[a-z]+-\d+\b`)
	found, used := 0, map[string]bool{}
	for lab, where := range labRegions() {
		sizes := map[string]bool{}
		err := filepath.WalkDir(filepath.Join(labs, lab), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".tf", ".yaml", ".sh", ".ts"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, s := range size.FindAllString(string(text), -1) {
				sizes[s] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(sizes) == 0 {
			t.Errorf("%s names no size", lab)
		}
		for s := range sizes {
			for _, region := range where.regions {
				for _, system := range where.systems {
					found++
					key := strings.Join([]string{where.provider, system, region}, " ")
					_, excepted := notPriced()[key]
					used[key] = true
					if priced := all.find(where.provider, system, s, region) != nil; priced == excepted {
						t.Errorf("%s: %s of %s has a price: %v, is an exception: %v", lab, s, key, priced, excepted)
					}
				}
			}
		}
	}
	for key := range notPriced() {
		if !used[key] {
			t.Errorf("no lab needs the exception %s", key)
		}
	}
	// All modules of labs are looked at.
	modules, err := filepath.Glob(filepath.Join(labs, "*", "tofu"))
	if err != nil || len(modules) != len(labRegions()) || found < 20 {
		t.Errorf("%d modules (%v), %d combinations", len(modules), err, found)
	}
}

// priceOf is the price of one resource, with its attributes as JSON.
func priceOf(t *testing.T, kind, after string) CostItem {
	t.Helper()
	plan := fmt.Sprintf(
		`{"resource_changes": [{"address": "a", "mode": "managed", "type": %q, "change": {"after": %s}}]}`, kind, after)
	if !json.Valid([]byte(plan)) {
		t.Fatal(plan)
	}
	c, err := cost([]byte(plan), nil)
	if err != nil || len(c.Items) == 0 {
		t.Fatal(err, plan)
	}
	return c.Items[0]
}

// Machines with Windows, with spot capacity or with images that cost extra do not get the price of Linux.
func TestSystemsOfMachines(t *testing.T) {
	const (
		azure  = `"location": "westeurope"`
		vm     = azure + `, "size": "Standard_D4s_v3"`
		nodes  = azure + `, "vm_size": "Standard_D4s_v3", "node_count": 2`
		aws    = `"region": "us-east-1"`
		ec2    = aws + `, "instance_type": "c5.large"`
		group  = aws + `, "instance_types": ["c5.large"], "scaling_config": [{"desired_size": 2}]`
		google = `"zone": "europe-west4-a", "machine_type": "c2-standard-4"`
		image  = `, "boot_disk": [{"initialize_params": [{"image": "%s"}]}]`
	)
	for _, c := range []struct {
		kind, after string
		hourly      float64 // 0: not known
		atLeast     bool
	}{
		{kind: "azurerm_linux_virtual_machine", after: vm, hourly: 0.24},
		{kind: "azurerm_linux_virtual_machine", after: vm + `, "priority": "Spot"`},
		{kind: "azurerm_linux_virtual_machine", after: vm + `, "plan": [{"name": "x"}]`},
		{kind: "azurerm_linux_virtual_machine", after: vm + `, "source_image_reference": [{"publisher": "RedHat"}]`},
		{
			kind:   "azurerm_linux_virtual_machine",
			after:  vm + `, "priority": "Regular", "plan": [], "source_image_reference": [{"publisher": "Canonical"}]`,
			hourly: 0.24,
		},
		{kind: "azurerm_windows_virtual_machine", after: vm, hourly: 0.424},
		{kind: "azurerm_windows_virtual_machine", after: vm + `, "license_type": "None"`, hourly: 0.424},
		{kind: "azurerm_windows_virtual_machine", after: vm + `, "license_type": "Windows_Server"`},
		{
			kind:  "azurerm_windows_virtual_machine",
			after: vm + `, "source_image_reference": [{"publisher": "MicrosoftSQLServer"}]`,
		},
		{
			kind:  "azurerm_windows_virtual_machine",
			after: `"location": "australiaeast", "size": "Standard_D3_v2"`,
		},
		{kind: "azurerm_virtual_machine", after: azure + `, "vm_size": "Standard_D4s_v3"`},
		{kind: "azurerm_kubernetes_cluster_node_pool", after: nodes, hourly: 0.48},
		{kind: "azurerm_kubernetes_cluster_node_pool", after: nodes + `, "os_type": "Linux"`, hourly: 0.48},
		{kind: "azurerm_kubernetes_cluster_node_pool", after: nodes + `, "os_type": "Windows"`, hourly: 0.848},
		{kind: "azurerm_kubernetes_cluster_node_pool", after: nodes + `, "priority": "Spot"`},
		{kind: "aws_instance", after: ec2, hourly: 0.085, atLeast: true},
		{kind: "aws_instance", after: ec2 + `, "instance_market_options": [{"market_type": "spot"}]`},
		{kind: "aws_instance", after: ec2 + `, "tenancy": "dedicated"`},
		{kind: "aws_instance", after: ec2 + `, "tenancy": "default", "instance_market_options": []`, hourly: 0.085,
			atLeast: true},
		{kind: "aws_eks_node_group", after: group, hourly: 0.17, atLeast: true},
		{kind: "aws_eks_node_group", after: group + `, "ami_type": "AL2023_x86_64_STANDARD"`, hourly: 0.17},
		{kind: "aws_eks_node_group", after: group + `, "ami_type": "WINDOWS_CORE_2022_x86_64"`},
		{kind: "aws_eks_node_group", after: group + `, "ami_type": "AL2023_x86_64_STANDARD", "capacity_type": "SPOT"`},
		{kind: "google_compute_instance", after: google, hourly: 0.229872, atLeast: true},
		{
			kind:   "google_compute_instance",
			after:  google + fmt.Sprintf(image, "ubuntu-os-cloud/ubuntu-2404-lts-amd64"),
			hourly: 0.229872,
		},
		{kind: "google_compute_instance", after: google + fmt.Sprintf(image, "windows-cloud/windows-2022")},
		{kind: "google_compute_instance", after: google + `, "scheduling": [{"provisioning_model": "SPOT"}]`},
		{kind: "google_compute_instance", after: google + `, "scheduling": [{"preemptible": true}]`},
		{
			kind: "google_compute_instance", after: google + `, "scheduling": [{"preemptible": false}]`,
			hourly: 0.229872, atLeast: true,
		},
		{kind: "google_compute_instance", after: google + `, "guest_accelerator": [{"count": 1}]`},
	} {
		item := priceOf(t, c.kind, "{"+c.after+"}")
		hourly, known := item.Hourly()
		if known != (c.hourly > 0) || !near(hourly, c.hourly) || known && item.AtLeast != c.atLeast || !item.Machine &&
			c.kind != "azurerm_virtual_machine" {
			t.Errorf("%s %s: %v an hour, known: %v, at least: %v", c.kind, c.after, hourly, known, item.AtLeast)
		}
	}
}

// A disk costs by its size: 100 GiB at $0.11 for a month of 730 hours.
func TestDisksCostByTheirSize(t *testing.T) {
	const disk = `"zone": "europe-west4-a", "type": "pd-balanced"`
	item := priceOf(t, "google_compute_disk", "{"+disk+`, "size": 100}`)
	if hourly, known := item.Hourly(); !known || !near(hourly, 100*0.11/730) {
		t.Errorf("%v, %v", hourly, known)
	}
	if item := priceOf(t, "google_compute_disk", "{"+disk+"}"); item.Price != nil {
		t.Errorf("a disk of unknown size costs %+v", item.Price)
	}
}

// Addresses of IPv6 and of all regions have other prices.
func TestAddressesOfAzure(t *testing.T) {
	for after, known := range map[string]bool{
		`{"sku": "Standard", "ip_version": "IPv4", "sku_tier": "Regional"}`: true,
		`{"sku": "Standard", "ip_version": "IPv6"}`:                         false,
		`{"sku": "Standard", "sku_tier": "Global"}`:                         false,
		`{"sku": "Basic"}`: false,
	} {
		if item := priceOf(t, "azurerm_public_ip", after); known != (item.Price != nil) {
			t.Errorf("%s: %+v", after, item.Price)
		}
	}
}

// What a resource does not tell of its region, others of the provider tell, if they agree.
func TestRegionOfOthers(t *testing.T) {
	plan := func(second string) Cost {
		t.Helper()
		c, err := cost(fmt.Appendf(nil, `{"resource_changes": [
			{"address": "a", "type": "aws_instance", "change": {"after": {"instance_type": "c5.large"}}},
			{"address": "b", "type": "aws_subnet", "change": {"after": {"availability_zone": "us-east-1a"}}},
			{"address": "c", "type": "aws_subnet", "change": {"after": {"availability_zone": %q}}}]}`, second), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := plan("us-east-1b"); c.Items[0].Region != "us-east-1" || c.Items[0].Price == nil || c.BetweenZones == nil ||
		c.BetweenZones.PerGB != 0.02 {
		t.Errorf("%+v", c)
	}
	if c := plan("eu-west-1b"); c.Items[0].Region != "" || c.Items[0].Price != nil {
		t.Errorf("%+v", c.Items[0])
	}
}

// A cluster of AKS has nodes of its own. Its control plane can cost something: no price of that is in the table.
func TestOwnNodesOfCluster(t *testing.T) {
	c, err := cost([]byte(`{"resource_changes": [{"address": "k", "type": "azurerm_kubernetes_cluster", "change": {"after":
		{"location": "westeurope", "default_node_pool": [{"vm_size": "Standard_D4s_v3", "node_count": 3}]}}}]}`), nil)
	if err != nil || len(c.Items) != 2 || c.Items[0].Price != nil || c.Items[1].Resource != "k.default_node_pool" {
		t.Fatalf("%+v, %v", c.Items, err)
	}
	if hourly, known := c.Items[1].Hourly(); !known || !near(hourly, 0.72) {
		t.Errorf("the nodes cost %v, known: %v", hourly, known)
	}
}

// A launch template can ask for spot capacity, and the plan does not always tell whose template it is.
func TestTemplatesWithSpotCapacity(t *testing.T) {
	c, err := cost([]byte(`{"resource_changes": [
		{"address": "a", "type": "aws_instance",
			"change": {"after": {"region": "us-east-1", "instance_type": "c5.large"}}},
		{"address": "t", "type": "aws_launch_template",
			"change": {"after": {"instance_market_options": [{"market_type": "spot"}]}}}]}`), nil)
	if err != nil || c.Known() {
		t.Errorf("%+v, %v", c.Items, err)
	}
}

func TestOldPrices(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for date, old := range map[string]bool{"2026-01-03": false, "2026-01-01": true, "": false, "May": false} {
		if IsOld(date, now) != old {
			t.Errorf("%q is old: %v", date, !old)
		}
	}
}

// The record keeps when and where the prices were published, and forgets it with prices of the file.
func TestRecordKeepsDatesOfPrices(t *testing.T) {
	const plan = `{"resource_changes": [
		{"address": "a", "type": "aws_eip", "change": {"after": {}}},
		{"address": "b", "type": "aws_instance", "change": {"after": {"region": "us-east-1", "instance_type": "c5.large"}}}]}`
	r := &Record{}
	for _, given := range [][]experiment.Price{nil, {{Of: "aws_eip", Hourly: 1}, {Of: "c5.large", Hourly: 1}}} {
		c, err := cost([]byte(plan), given)
		if err != nil {
			t.Fatal(err)
		}
		r.price(c)
		fromTable := given == nil
		if fromTable != (r.HourlyDate == "2024-02-01") || fromTable != (len(r.HourlySources) == 2) {
			t.Errorf("with prices %v of the file: %q, %q", given, r.HourlyDate, r.HourlySources)
		}
	}
}
