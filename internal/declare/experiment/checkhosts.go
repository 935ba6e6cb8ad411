package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkHosts checks that there are not too many hosts, that none is there twice, and that arms name only hosts that
// exist.
func (e *Experiment) checkHosts() error {
	if len(e.Hosts) > maxHosts {
		return fmt.Errorf("there are %d hosts; at most %d", len(e.Hosts), maxHosts)
	}
	names := map[string]bool{}
	for _, h := range e.Hosts {
		if names[h.Name] {
			return fmt.Errorf("host %s is there twice", quote(h.Name))
		}
		names[h.Name] = true
		if longest := max(len(h.Name), len(h.SSH), len(h.AgentFrom), len(h.Address), len(h.Address6), len(h.Bind),
			len(h.Folder), len(h.Tools)); longest > maxJoin {
			return fmt.Errorf("host %s has a text of %d bytes; at most %d", quote(h.Name), longest, maxJoin)
		}
	}
	for _, a := range e.Arms {
		for _, name := range []string{a.Client, a.Server} {
			if name != "" && !names[name] {
				return fmt.Errorf("arm %s names host %s, which does not exist", quote(a.Name), quote(name))
			}
		}
	}
	return nil
}

// checkHosts checks that an arm has hosts, in one way.
func (a Arm) checkHosts(tools Tools) error {
	switch {
	case a.Lab != nil && (a.hasHosts() || a.Kubernetes != nil):
		return errors.New("it makes its hosts in two ways")
	case a.Lab != nil:
		return a.Lab.check()
	case a.Kubernetes != nil && a.Client != "" && a.Server != "":
		return errors.New("it names both hosts, and pods too")
	case a.Kubernetes != nil:
		return a.checkRunnablePods(tools)
	case a.Client == "" || a.Server == "":
		return errors.New("it has no hosts")
	}
	return nil
}

// checkRunnable checks a host as the reader does. It does not ask for the join string, which is not recorded.
func (h HostSpec) checkRunnable(tools Tools) error {
	kinds := 0
	for _, given := range []bool{h.Local, h.SSH != "", h.AgentFrom != "", h.Provisioned} {
		if given {
			kinds++
		}
	}
	switch {
	case !IsName(h.Name):
		return fmt.Errorf("this is no name: %s", nameRule())
	case kinds != 1:
		return fmt.Errorf("one of %s must say how it is reached", strings.Join(hostKinds(), ", "))
	case h.Provisioned:
		return h.checkProvisioned()
	case h.AgentFrom != "" && h.AgentFrom != hiddenJoin && referenced(h.AgentFrom) == "":
		return errors.New("its agent is no variable")
	case h.Port != 0 && (h.Port < minPort || h.Port > maxPort):
		return fmt.Errorf("port %d; %d to %d", h.Port, minPort, maxPort)
	case h.Silence != 0 && (h.Silence < minSilence || h.Silence > maxSilence):
		return fmt.Errorf("silence %v; %v to %v", h.Silence, minSilence, maxSilence)
	case h.Sudo && h.SSH == "":
		return errors.New("sudo has a meaning only with ssh")
	case h.Command != "" && h.SSH == "":
		return errors.New("command has a meaning only with ssh")
	case h.Command != "" && (h.Folder != "" || h.Sudo):
		return errors.New("folder and sudo have no meaning with command")
	case h.Folder != "" && h.AgentFrom != "":
		return errors.New("folder has no meaning with agent")
	case len(h.Tools) > 0 && h.AgentFrom != "":
		return errors.New("tools has no meaning with agent")
	}
	given := func(text string, check func(string) error) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
	err := cmp.Or(given(h.SSH, checkSSH), given(h.Address, checkAddress), given(h.Address6, checkAddress6),
		given(h.Bind, checkBind), given(h.Folder, checkPath), given(h.Command, checkCommand))
	if err != nil {
		return err
	}
	for name, path := range h.Tools {
		if !slices.Contains(tools.Programs(), name) {
			return fmt.Errorf("unknown program %s", quote(name))
		}
		if err := checkPath(path); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
