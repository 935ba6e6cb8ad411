package experiment

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the lists of resources that are made anew for each deployment.
const (
	maxReplaced = 100
	maxResource = 1000 // characters
	maxFilePath = 4096 // bytes
)

// Made lists the hosts whose machines Provision has made, in the order of the file.
func (e *Experiment) Made() (names []string) {
	for _, h := range e.Hosts {
		if h.Made {
			names = append(names, h.Name)
		}
	}
	return names
}

// Redeploys says that Provision makes the machines of arms anew for each deployment of the schedule.
func (e *Experiment) Redeploys() bool {
	return e.Schedule.DeploymentCount() > 1 && e.Provision != nil && len(e.Provision.Replace) > 0 &&
		slices.ContainsFunc(e.Arms, Arm.HasHosts)
}

// madeFrom says whether the hosts that an arm names are machines that provision makes. Both are, if it names none.
func (a Arm) madeFrom(hosts []HostSpec) bool {
	for _, name := range []string{a.Client, a.Server} {
		made := func(h HostSpec) bool { return h.Name == name && (h.Made || h.Provisioned) }
		if name != "" && !slices.ContainsFunc(hosts, made) {
			return false
		}
	}
	return true
}

// checkResource checks the type or the address of a resource. Whether the module has it is known when it was applied.
func checkResource(address string) error {
	const hint = "write a type, or an address such as module.pair.aws_instance.a"
	first, _ := utf8.DecodeRuneInString(address)
	switch {
	case utf8.RuneCountInString(address) > maxResource:
		return refused("at most "+strconv.Itoa(maxResource), "an address of %d characters",
			utf8.RuneCountInString(address))
	case !unicode.IsLetter(first) && first != '_', strings.HasPrefix(address, "data."),
		strings.ContainsFunc(address, func(c rune) bool { return !unicode.IsPrint(c) }):
		return refused(hint, "%s is no resource", quote(address))
	}
	return nil
}
