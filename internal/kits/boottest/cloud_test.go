//go:build linux

package boottest

import (
	"context"
	_ "embed" // cloud.sh, detect.sh
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed cloud.sh
var cloudScript string

//go:embed detect.sh
var detectScript string

// A Cloud says what a machine of a cloud sees of it.
type Cloud struct {
	// Name is azure, aws or gcp.
	Name string
	// Firmware is what is in files of /sys/class/dmi/id, by their names.
	Firmware map[string]string
	// Documents are what the metadata service says, by path. Those that cloud-init needs besides are added.
	Documents map[string]string
	// ID is the machine's identifier in the documents. Each machine has one of its own, with another end.
	ID string
}

// User is the user that a key of the image lets in.
func (c *Cloud) User() string {
	if c != nil && c.Name == "azure" {
		return "azureuser"
	}
	return "debian"
}

// The addresses of the clouds' services: the metadata service of all, and Azure's wire server.
const metadataAddress, wireAddress = "169.254.169.254", "168.63.129.16"

// inCloud makes what a machine of a cloud finds around it, and gives the files that are on its disk.
func (n *Network) inCloud(m *Machine, image Image) map[string]string {
	n.t.Helper()
	c := image.Cloud
	if n.metadata == nil {
		n.serveCloud(c.Name)
	}
	mac := macOf(n.last)
	documents := map[string]string{}
	for path, text := range c.Documents {
		documents[path] = strings.ReplaceAll(strings.TrimSpace(text), c.ID, idOf(c.ID, n.last))
	}
	virt := map[string]string{"azure": "microsoft", "aws": "amazon", "gcp": "google"}[c.Name]
	files := map[string]string{
		"srv/cloud/mac":                     mac,
		"srv/cloud/virt":                    virt,
		"usr/lib/systemd/systemd":           cloudScript,
		"usr/bin/systemd-detect-virt":       detectScript,
		"etc/cloud/cloud.cfg.d/99-test.cfg": testConfig,
		// Nobody answers there, which is said at once.
		"etc/resolv.conf": "nameserver " + gateway + "\n",
	}
	firmware := maps.Clone(c.Firmware)
	id := fmt.Sprintf("ec2b3a1c-7d2e-4f5a-9c1b-0a1b2c3d4e%02x", n.last)
	firmware["product_uuid"], firmware["product_serial"] = id, id
	for name, text := range firmware {
		files["srv/cloud/dmi/"+name] = text + "\n"
	}
	switch c.Name {
	case "azure":
		documents["/metadata/instance"] = azureInstance(n, m, image, documents["/metadata/instance/compute"], mac)
		// cloud-init names the device eth0, by a file for networkd that wants the device's permanent address. A veth
		// has none.
		files["etc/systemd/network/90-eth0.network"] = "[Match]\nName=eth0\n[Network]\nDHCP=ipv4\n"
		files["var/lib/cloud/seed/azure/ovf-env.xml"] = provisioning(c, image.UserData, n.last)
	case "aws":
		ec2Documents(m, image, documents, mac)
	case "gcp":
		const instance = "/computeMetadata/v1/instance/"
		documents[instance+"hostname"] = fmt.Sprintf("vm-%d.us-central1-a.c.perf-tests.internal", n.last)
		documents[instance+"attributes/user-data"] = image.UserData
		if image.Key != "" {
			documents[instance+"attributes/ssh-keys"] = c.User() + ":" + image.Key
		}
		// Google's images have this line.
		files["etc/hosts"] = "127.0.0.1 localhost\n" + metadataAddress + " metadata.google.internal\n"
	}
	n.metadata.mu.Lock()
	defer n.metadata.mu.Unlock()
	n.metadata.machines[m.Address] = &cloudMachine{documents: documents}
	return files
}

// macOf is the address of the network device of a machine.
func macOf(number int) string { return fmt.Sprintf("02:00:00:00:37:%02x", number) }

// idOf is the identifier of a machine: the last two digits say which.
func idOf(id string, number int) string { return fmt.Sprintf("%s%02d", id[:len(id)-2], number) }

// provisioning is ovf-env.xml, which Azure puts on a disc. The elements are those that Azure's agent reads
// (azurelinuxagent/pa/... OvfEnv), in their order.
func provisioning(c *Cloud, userData string, number int) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?>
<ns0:Environment xmlns:ns0="http://schemas.dmtf.org/ovf/environment/1"
  xmlns:ns1="http://schemas.microsoft.com/windowsazure" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <ns1:ProvisioningSection>
    <ns1:Version>1.0</ns1:Version>
    <ns1:LinuxProvisioningConfigurationSet>
      <ns1:ConfigurationSetType>LinuxProvisioningConfiguration</ns1:ConfigurationSetType>
      <ns1:UserName>%s</ns1:UserName>
      <ns1:DisableSshPasswordAuthentication>true</ns1:DisableSshPasswordAuthentication>
      <ns1:HostName>vm-%d</ns1:HostName>
      <ns1:CustomData>%s</ns1:CustomData>
    </ns1:LinuxProvisioningConfigurationSet>
  </ns1:ProvisioningSection>
  <ns1:PlatformSettingsSection>
    <ns1:Version>1.0</ns1:Version>
    <ns1:PlatformSettings><ns1:ProvisionGuestAgent>true</ns1:ProvisionGuestAgent></ns1:PlatformSettings>
  </ns1:PlatformSettingsSection>
</ns0:Environment>
`, c.User(), number, base64.StdEncoding.EncodeToString([]byte(userData)))
}

// azureInstance is the document of /metadata/instance ("Azure Instance Metadata Service", sample output).
func azureInstance(n *Network, m *Machine, image Image, compute, mac string) string {
	n.t.Helper()
	var d map[string]any
	if err := json.Unmarshal([]byte(compute), &d); err != nil {
		n.t.Fatal(err)
	}
	user := image.Cloud.User()
	d["osProfile"] = map[string]string{
		"adminUsername": user, "computerName": fmt.Sprintf("vm-%d", n.last), "disablePasswordAuthentication": "true",
	}
	d["publicKeys"] = []map[string]string{}
	if image.Key != "" {
		d["publicKeys"] = []map[string]string{
			{"keyData": image.Key, "path": "/home/" + user + "/.ssh/authorized_keys"},
		}
	}
	type list = []map[string]any
	text, err := json.Marshal(map[string]any{
		"compute": d,
		"network": map[string]any{"interface": list{{
			"macAddress": strings.ToUpper(strings.ReplaceAll(mac, ":", "")),
			"ipv4": map[string]any{
				"ipAddress": list{{"privateIpAddress": m.Address, "publicIpAddress": ""}},
				"subnet":    list{{"address": "10.55.0.0", "prefix": "24"}},
			},
			"ipv6": map[string]any{"ipAddress": list{}},
		}}},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// ec2Documents adds what cloud-init reads ("Instance metadata categories" in the EC2 User Guide).
func ec2Documents(m *Machine, image Image, documents map[string]string, mac string) {
	const top = "/latest/meta-data/"
	name := "ip-" + strings.ReplaceAll(m.Address, ".", "-") + ".eu-west-1.compute.internal"
	device := top + "network/interfaces/macs/" + mac + "/"
	maps.Copy(documents, map[string]string{
		top + "ami-id": "ami-0123456789abcdef0", top + "ami-launch-index": "0", top + "hostname": name,
		top + "local-hostname": name, top + "local-ipv4": m.Address, top + "mac": mac,
		top + "services/domain":  "amazonaws.com",
		device + "device-number": "0", device + "interface-id": "eni-0123456789abcdef0", device + "mac": mac,
		device + "local-ipv4s": m.Address, device + "subnet-ipv4-cidr-block": "10.55.0.0/24",
		device + "vpc-id": "vpc-0123456789abcdef0",
	})
	if image.UserData != "" {
		documents["/latest/user-data"] = image.UserData
	}
	if image.Key != "" {
		documents[top+"public-keys/0/openssh-key"] = image.Key
	}
}

// serveCloud starts the metadata service of a cloud, and a DHCP server, in the network.
func (n *Network) serveCloud(cloud string) {
	n.t.Helper()
	n.metadata = &metadataService{cloud: cloud, machines: map[string]*cloudMachine{}}
	for _, address := range []string{metadataAddress, wireAddress} {
		cmd := n.Command(context.Background(), "ip", "address", "add", address+"/32", "dev", "lo")
		if out, err := cmd.CombinedOutput(); err != nil {
			n.t.Fatalf("%s: %v\n%s", address, err, out)
		}
		l, err := n.listen(address + ":80")
		if err != nil {
			n.t.Fatalf("no service at %s: %v", address, err)
		}
		server := &http.Server{Handler: n.metadata, ReadHeaderTimeout: 5 * time.Second}
		go func() { _ = server.Serve(l) }() // until it is closed
		n.t.Cleanup(func() { _ = server.Close() })
	}
	folder := n.t.TempDir()
	var text strings.Builder
	fmt.Fprintf(&text, "start 10.55.0.2\nend 10.55.0.250\ninterface %s\nlease_file %s/leases\npidfile %[2]s/pid\n"+
		"opt subnet 255.255.255.0\nopt router %s\nopt lease 3600\n", bridge, folder, gateway)
	if cloud == "azure" {
		fmt.Fprintf(&text, "opt 0xf5 %x\n", []byte(net.ParseIP(wireAddress).To4())) // option 245: the wire server
	}
	for number := 2; number < 20; number++ {
		fmt.Fprintf(&text, "static_lease %s 10.55.0.%d\n", macOf(number), number)
	}
	file := filepath.Join(folder, "udhcpd.conf")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "leases"), nil, 0o600); err != nil {
		n.t.Fatal(err)
	}
	start(n.t, n.Command(context.Background(), "busybox", "udhcpd", "-f", file))
}

// listen listens at an address of the network.
func (n *Network) listen(address string) (l net.Listener, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with this goroutine, because it is never unlocked: it stays in the other namespace.
		runtime.LockOSThread()
		var namespace *os.File
		if namespace, err = os.Open(n.namespace()); err != nil {
			return
		}
		defer func() { _ = namespace.Close() }() // it was only opened to enter it
		if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", address)
	}()
	<-done
	return l, err
}

// CloudID is the machine's identifier in the documents of its cloud.
func (m *Machine) CloudID(c *Cloud) string { return idOf(c.ID, m.number) }

// Requests are the requests to the metadata service so far: address, method, path and status.
func (n *Network) Requests() []string {
	n.metadata.mu.Lock()
	defer n.metadata.mu.Unlock()
	return slices.Clone(n.metadata.requests)
}

// ReportedReady says whether a machine has told Azure that it is ready.
func (n *Network) ReportedReady(m *Machine) bool {
	n.metadata.mu.Lock()
	defer n.metadata.mu.Unlock()
	return n.metadata.machines[m.Address].ready
}
