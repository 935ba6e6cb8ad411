package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// The clouds whose metadata services are known.
const (
	CloudAzure = "azure"
	CloudAWS   = "aws"
	CloudGCP   = "gcp"
)

// Where is where a machine is, by the metadata service of its cloud. A value that the service does not give is empty.
type Where struct {
	Cloud      string `json:"cloud"`
	InstanceID string `json:"instance_id,omitempty"`
	// Name is the instance's name (GCP), ResourceID its identifier for Azure's API.
	Name         string `json:"name,omitempty"`
	ResourceID   string `json:"resource_id,omitempty"`
	InstanceType string `json:"instance_type,omitempty"`
	Region       string `json:"region,omitempty"`
	// Zone is the zone's name. On Azure and AWS the same name can mean different zones in different subscriptions or
	// accounts; ZoneID (AWS) means the same one everywhere.
	Zone   string `json:"zone,omitempty"`
	ZoneID string `json:"zone_id,omitempty"`
	// Account is the Azure subscription, the AWS account or the GCP project.
	Account      string `json:"account,omitempty"`
	FaultDomain  string `json:"fault_domain,omitempty"`
	UpdateDomain string `json:"update_domain,omitempty"`
	// ScaleSetGroup is Azure's placementGroupId: the group of a scale set, which is no proximity placement group.
	ScaleSetGroup string `json:"scale_set_group,omitempty"`
	// PlacementGroup is the name of the EC2 placement group. It is nil if it is not known, and empty if the service
	// says that there is none.
	PlacementGroup *string `json:"placement_group,omitempty"`
	Partition      string  `json:"partition,omitempty"`
	// Host is the dedicated host (AWS, Azure).
	Host string `json:"host,omitempty"`
	// Topology is GCP's physical topology.
	Topology *Topology `json:"topology,omitempty"`
	// Problem says why some of it is not known.
	Problem string `json:"problem,omitempty"`
}

// Topology is where a machine of GCP physically is.
type Topology struct {
	Cluster  string `json:"cluster,omitempty"`
	Block    string `json:"block,omitempty"`
	Subblock string `json:"subblock,omitempty"`
	Host     string `json:"host,omitempty"`
}

// Parts are the known parts with their names, from the largest down: "cluster c1", "block b1". There are none for nil.
func (t *Topology) Parts() (parts []string) {
	if t == nil {
		return nil
	}
	for _, part := range [][2]string{
		{"cluster", t.Cluster}, {"block", t.Block}, {"subblock", t.Subblock}, {"host", t.Host},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	return parts
}

// Cloud is the cloud that the firmware names; empty if it names none that is known. Microsoft's vendor string alone is
// no proof, because Hyper-V has it everywhere: Azure also sets an asset tag.
func (f Firmware) Cloud() string {
	const azureAssetTag = "7783-7084-3265-9085-8269-3286-77"
	switch {
	case f.Vendor == "Microsoft Corporation" && f.AssetTag == azureAssetTag:
		return CloudAzure
	case f.Vendor == "Amazon EC2" || f.BIOS == "Amazon EC2":
		return CloudAWS
	case f.Vendor == "Xen" && strings.HasPrefix(strings.ToLower(f.Xen), "ec2"):
		return CloudAWS
	case f.Vendor == "Google" && f.Product == "Google Compute Engine":
		return CloudGCP
	}
	return ""
}

// metadataLimit bounds all requests to the metadata service together.
const metadataLimit = time.Second

// locate asks the metadata service of the cloud that the firmware names. Without such a cloud it asks nothing, and the
// result is nil. It takes at most metadataLimit.
func (f Firmware) locate(ctx context.Context) *Where {
	cloud := f.Cloud()
	if cloud == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, metadataLimit)
	defer cancel()
	w := &Where{Cloud: cloud}
	s := newService()
	defer s.client.CloseIdleConnections()
	var err error
	switch cloud {
	case CloudAzure:
		err = w.askAzure(ctx, s)
	case CloudAWS:
		err = w.askAWS(ctx, s)
	case CloudGCP:
		err = w.askGCP(ctx, s)
	}
	if err != nil {
		w.Problem = err.Error()
	}
	return w
}

// metadataAddress is link-local: no router forwards packets to it.
const metadataAddress = "169.254.169.254:80"

// service is a metadata service.
type service struct{ client *http.Client }

// newService makes a client that connects only to the metadata address: it ignores proxies, follows no redirects, and
// looks up no names.
func newService() service {
	dialer := &net.Dialer{}
	return service{&http.Client{
		Transport: &http.Transport{
			Proxy: nil, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "tcp4", metadataAddress)
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errAbsent says that the service has no such entry.
var errAbsent = errors.New("404 Not Found")

// maxMetadata bounds an answer, in bytes.
const maxMetadata = 256 << 10

// ask makes a request. header is a name and a value.
func (s service) ask(ctx context.Context, method, file string, header [2]string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, method, "http://169.254.169.254"+file, nil)
	if err != nil {
		return "", err
	}
	q.Header.Set(header[0], header[1])
	r, err := s.client.Do(q)
	if err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("the metadata service did not answer within %v", metadataLimit)
		}
		return "", fmt.Errorf("the metadata service: %w", err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxMetadata+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the metadata service: %w", err)
	case len(body) > maxMetadata:
		return "", errors.New("the metadata service sent too much")
	case r.StatusCode == http.StatusNotFound:
		return "", errAbsent
	case r.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the metadata service answered %s", r.Status)
	}
	return string(body), nil
}

// askAzure reads the instance's document (Azure Instance Metadata Service, /metadata/instance).
func (w *Where) askAzure(ctx context.Context, s service) error {
	text, err := s.ask(ctx, http.MethodGet, "/metadata/instance/compute?api-version=2021-02-01&format=json",
		[2]string{"Metadata", "true"})
	if err != nil {
		return err
	}
	var d struct {
		Location, Zone, VMSize, VMID, SubscriptionID                string
		PlatformFaultDomain, PlatformUpdateDomain, PlacementGroupID string
		ResourceID                                                  string
		Host                                                        struct{ ID string }
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("the metadata service's document: %w", err)
	}
	w.InstanceID, w.InstanceType, w.Region, w.Zone, w.Account = d.VMID, d.VMSize, d.Location, d.Zone, d.SubscriptionID
	w.FaultDomain, w.UpdateDomain = d.PlatformFaultDomain, d.PlatformUpdateDomain
	w.ScaleSetGroup, w.Host, w.ResourceID = d.PlacementGroupID, d.Host.ID, d.ResourceID
	return nil
}

// askAWS reads entries with a session token (IMDSv2). The token is needed for all of them, and it does not pass more
// than one hop by default, so it often fails in containers.
func (w *Where) askAWS(ctx context.Context, s service) error {
	token, err := s.ask(ctx, http.MethodPut, "/latest/api/token",
		[2]string{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60"})
	if err != nil {
		return fmt.Errorf("no token: %w", err)
	}
	group, document := "", ""
	entries := []struct {
		name string
		to   *string
	}{
		{"meta-data/instance-id", &w.InstanceID}, {"meta-data/instance-type", &w.InstanceType},
		{"meta-data/placement/region", &w.Region}, {"meta-data/placement/availability-zone", &w.Zone},
		{"meta-data/placement/availability-zone-id", &w.ZoneID}, {"meta-data/placement/group-name", &group},
		{"meta-data/placement/partition-number", &w.Partition}, {"meta-data/placement/host-id", &w.Host},
		{"dynamic/instance-identity/document", &document},
	}
	errs := make([]error, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() {
			*e.to, errs[i] = s.ask(ctx, http.MethodGet, "/latest/"+e.name,
				[2]string{"X-Aws-Ec2-Metadata-Token", token})
		})
	}
	all.Wait()
	for i, e := range entries {
		absent := errors.Is(errs[i], errAbsent)
		if absent {
			errs[i] = nil
		}
		if e.to == &group && errs[i] == nil {
			w.PlacementGroup = &group // empty after a 404: the instance is in no group
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", e.name, errs[i])
		}
	}
	var identity struct{ AccountID string }
	if json.Unmarshal([]byte(document), &identity) == nil {
		w.Account = identity.AccountID
	}
	return errors.Join(errs...)
}

// askGCP reads the instance's document (Compute Engine, /computeMetadata/v1/instance). The physical topology is an
// attribute of the instance, and only some machine types have it.
func (w *Where) askGCP(ctx context.Context, s service) error {
	flavor := [2]string{"Metadata-Flavor", "Google"}
	var project string
	var errs [2]error
	var all sync.WaitGroup
	all.Go(func() {
		project, errs[0] = s.ask(ctx, http.MethodGet, "/computeMetadata/v1/project/project-id", flavor)
	})
	for _, e := range []struct {
		name string
		to   *string
		base bool
	}{
		{"id", &w.InstanceID, false}, {"name", &w.Name, false}, {"machine-type", &w.InstanceType, true},
		{"zone", &w.Zone, true},
	} {
		text, err := s.ask(ctx, http.MethodGet, "/computeMetadata/v1/instance/"+e.name, flavor)
		if err != nil {
			errs[1] = errors.Join(errs[1], fmt.Errorf("%s: %w", e.name, err))
			continue
		}
		if *e.to = strings.TrimSpace(text); e.base {
			*e.to = path.Base(*e.to) // "projects/NUMBER/zones/us-central1-a"
		}
	}
	text, err := s.ask(ctx, http.MethodGet, "/computeMetadata/v1/instance/attributes/physical_host_topology", flavor)
	all.Wait()
	if err == nil {
		var t Topology
		if json.Unmarshal([]byte(text), &t) == nil && t != (Topology{}) {
			w.Topology = &t
		}
	} else if !errors.Is(err, errAbsent) {
		errs[1] = errors.Join(errs[1], fmt.Errorf("physical_host_topology: %w", err))
	}
	w.Account = project
	if at := strings.LastIndexByte(w.Zone, '-'); at > 0 {
		w.Region = w.Zone[:at]
	}
	return errors.Join(errs[:]...)
}
