package azuretest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"nearfar/internal/kits/cloudtest"
)

// cloudName is the name under which az knows the fake.
const cloudName = "NearfarTest"

// Env is an environment in which the real az is on the path and talks to this cloud, as NAME=VALUE. Nothing of the
// user's own configuration is read. It has no secret: az keeps what Login gives it in its own folder.
func (c *Cloud) Env() []string {
	c.t.Helper()
	return []string{
		"PATH=" + cloudtest.Folder(c.t, "azure") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"AZURE_CONFIG_DIR=" + filepath.Join(c.folder, "az"),
		"REQUESTS_CA_BUNDLE=" + c.certificate(),
		"AZURE_CORE_INSTANCE_DISCOVERY=false", // else az asks a service of Azure who may log people in
		"AZURE_CORE_COLLECT_TELEMETRY=false", "AZURE_CORE_NO_COLOR=true", "AZURE_CORE_SURVEY_MESSAGE=false",
		"AZURE_CORE_LOGIN_EXPERIENCE_V2=off", "AZURE_CORE_DISPLAY_REGION_IDENTIFIED=no",
		"AZURE_BICEP_CHECK_VERSION=false",
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
	}
}

// Provider is an environment in which the real provider azurerm talks to this cloud, as NAME=VALUE.
func (c *Cloud) Provider() []string {
	return []string{
		"ARM_METADATA_HOSTNAME=" + strings.TrimPrefix(c.URL, "https://"), "ARM_ENVIRONMENT=" + cloudName,
		"ARM_TENANT_ID=" + Tenant, "ARM_SUBSCRIPTION_ID=" + Subscription, "ARM_CLIENT_ID=" + Client,
		"ARM_CLIENT_SECRET=" + c.Secret, "ARM_USE_CLI=false", "SSL_CERT_FILE=" + c.certificate(),
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
	}
}

// Login tells az where the cloud is, and logs in.
func (c *Cloud) Login() {
	c.t.Helper()
	// The other endpoints come from the cloud's metadata.
	c.az("cloud", "register", "--name", cloudName, "--endpoint-resource-manager", c.URL)
	c.az("cloud", "set", "--name", cloudName)
	c.az("login", "--service-principal", "--username", Client, "--password", c.Secret, "--tenant", Tenant)
}

// az runs the real az.
func (c *Cloud) az(args ...string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(cloudtest.Folder(c.t, "azure"), "az"), args...)
	cmd.Env = append(os.Environ(), c.Env()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("az %s: %v\n%s", args[0], err, out)
	}
}
