package cli

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

// inputFlags are the flags of verbs that read experiment files: the values of variables, and further hosts.
type inputFlags struct {
	set   []string
	hosts string
	// asked are the variables of --set that a file has.
	asked map[string]bool
	// hostsText is the content of hosts after it was read. It is read once, because it can be a pipe.
	hostsText []byte
}

func (i *inputFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&i.set, "set", nil,
		"give the variable ${NAME} of the file a value, as `NAME=VALUE`; it goes before the environment (repeatable)")
	f.StringVar(&i.hosts, "hosts", "",
		"a `FILE` whose hosts are added to those of the experiment file, or replace them")
}

// read gives the inputs for experiment files. taken says that the experiment file is standard input.
func (i *inputFlags) read(a *app, taken bool) (experimentfile.Inputs, error) {
	values := map[string]string{}
	for _, one := range i.set {
		name, value, found := strings.Cut(one, "=")
		if !found || !experiment.IsVariable(name) {
			// The text is not shown: it can be a secret.
			return experimentfile.Inputs{}, usagef("--set: write NAME=VALUE, with a name of letters, digits and _")
		}
		if _, twice := values[name]; twice {
			return experimentfile.Inputs{}, usagef("--set: %s is given twice", name)
		}
		values[name] = value
	}
	if i.asked == nil {
		i.asked = map[string]bool{}
	}
	in := experimentfile.Inputs{Given: slices.Sorted(maps.Keys(values)), Variable: func(name string) (string, bool) {
		if value, ok := values[name]; ok {
			i.asked[name] = true
			return value, true
		}
		return os.LookupEnv(name)
	}}
	if i.hosts == "" {
		return in, nil
	}
	if taken && i.hosts == "-" {
		return in, usagef("--hosts -: standard input is the experiment file already")
	}
	if i.hostsText == nil {
		data, err := a.readFile(i.hosts)
		if errors.Is(err, fs.ErrNotExist) {
			return in, usagef("--hosts: %w", err)
		}
		if err != nil {
			return in, &usageError{err}
		}
		i.hostsText = append([]byte{}, data...) // never nil, which is no file
	}
	in.HostsName, in.Hosts = i.hosts, i.hostsText
	return in, nil
}

// unused fails if no file has one of the variables of --set.
func (i *inputFlags) unused(files ...string) error {
	for _, one := range i.set {
		if name, _, _ := strings.Cut(one, "="); !i.asked[name] {
			return usagef("--set %s: %s has no variable ${%s}", name, clean.Line(strings.Join(files, ", ")), name)
		}
	}
	return nil
}
