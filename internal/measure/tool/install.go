package tool

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// The operating systems on which nearfar runs tools, as Go names them (GOOS).
const (
	linux   = "linux"
	windows = "windows"
)

// installation says on which systems nearfar runs a tool, and where the tool's programs come from. nearfar installs
// nothing itself: it names the command.
type installation struct {
	// on lists operating systems.
	on []string
	// The rest are names of packages; empty where the distribution has none. amazon is for Amazon Linux, which has
	// neither EPEL nor most of Fedora's packages. azure is for Azure Linux.
	apt, dnf, amazon, azure, zypper, pacman, apk string
	// debian, ubuntu, rhel and azureNote say which further repository a package is in; empty for the usual ones.
	debian, ubuntu, rhel, azureNote string
	// source is where to find the source, for distributions without a package. windows is where to get the program for
	// Windows.
	source, windows string
}

// distribution is a family of Linux distributions with one package manager.
type distribution struct {
	// name is for messages, and ids are values of ID and ID_LIKE in /etc/os-release.
	name string
	ids  []string
	// command installs the packages that follow it.
	command string
	// of gives the name of the tool's package and which further repository it is in.
	of func(i installation) (name, note string)
}

// distributions lists the families that nearfar knows. Amazon Linux and Azure Linux come before Fedora, because their
// ID_LIKE names it.
func distributions() []distribution {
	return []distribution{
		{"Ubuntu", []string{"ubuntu"}, "sudo apt-get install",
			func(i installation) (string, string) { return i.apt, i.ubuntu }},
		{"Debian", []string{"debian"}, "sudo apt-get install",
			func(i installation) (string, string) { return i.apt, i.debian }},
		{"Amazon Linux", []string{"amzn"}, "sudo dnf install",
			func(i installation) (string, string) { return i.amazon, "" }},
		{"Azure Linux", []string{"azurelinux", "mariner"}, "sudo tdnf install",
			func(i installation) (string, string) { return i.azure, i.azureNote }},
		{"RHEL", []string{"rhel", "centos"}, "sudo dnf install",
			func(i installation) (string, string) { return i.dnf, i.rhel }},
		{"Fedora", []string{"fedora"}, "sudo dnf install",
			func(i installation) (string, string) { return i.dnf, "" }},
		{"SUSE", []string{"suse", "opensuse", "sles", "sled"}, "sudo zypper install",
			func(i installation) (string, string) { return i.zypper, "" }},
		{"Arch Linux", []string{"arch"}, "sudo pacman -S",
			func(i installation) (string, string) { return i.pacman, "" }},
		{"Alpine Linux", []string{"alpine"}, "sudo apk add",
			func(i installation) (string, string) { return i.apk, "" }},
	}
}

// distributionOf finds the family from the text of /etc/os-release: by its ID, then by its ID_LIKE, in their order.
func distributionOf(release string) (distribution, bool) {
	values := map[string]string{}
	for line := range strings.SplitSeq(release, "\n") {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	for id := range strings.FieldsSeq(values["ID"] + " " + values["ID_LIKE"]) {
		for _, d := range distributions() {
			if slices.Contains(d.ids, strings.ToLower(id)) {
				return d, true
			}
		}
	}
	return distribution{}, false
}

// HowToInstall says in one line how a tool comes onto a host: the command that installs it on the host's distribution,
// or where to get it. release is the text of the host's /etc/os-release; it is not used on other systems than Linux.
// The answer is empty for a tool that is not known, and contains no text of the host's.
func HowToInstall(tool string, on host.System, release string) string {
	for _, p := range programs() {
		if p.declared.Name == tool {
			return p.install.how(on.OS, release)
		}
	}
	return ""
}

func (i installation) how(system, release string) string {
	switch {
	case !slices.Contains(i.on, system):
		return "it runs on " + systemNames(i.on) + " only"
	case system == windows:
		return i.windows
	}
	d, known := distributionOf(release)
	if !known {
		return "get it from " + i.source
	}
	name, note := d.of(i)
	switch {
	case name == "":
		return "no package for " + d.name + " is known; build it from " + i.source
	case note != "":
		return d.command + " " + name + " (" + note + ")"
	}
	return d.command + " " + name
}

// systemNames writes operating systems as people do: "Linux and Windows".
func systemNames(on []string) string {
	var names []string
	for _, system := range on {
		names = append(names, strings.ToUpper(system[:1])+system[1:])
	}
	return strings.Join(names, " and ")
}

// runsOn says which of the hosts has a system on which nearfar does not run the tool. A host with an unknown system
// passes.
func (p program) runsOn(w experiment.Workload, pair host.Pair) error {
	for _, h := range []host.Endpoint{pair.Client, pair.Server} {
		if h.System.OS != "" && !slices.Contains(p.install.on, h.System.OS) {
			return fmt.Errorf("workload %s: %s runs on %s, and %s is %s", w.Name, p.declared.Name,
				systemNames(p.install.on), h.Name, h.System.OS)
		}
	}
	return nil
}
