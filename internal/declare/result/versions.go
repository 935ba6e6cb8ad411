package result

// HostVersions are the versions of the tools on the two hosts of an arm, by the name of the tool.
type HostVersions struct {
	Client map[string]string `json:"client"`
	Server map[string]string `json:"server"`
}
