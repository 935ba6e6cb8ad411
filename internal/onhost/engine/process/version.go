package process

import (
	"runtime/debug"
)

// release is the version of this source tree, for builds that have no other.
const release = "0.1.0"

// stamped is the version of a published release. The linker sets it, for scripts/release.sh; it is empty in all other
// builds.
var stamped string

// Revision is the commit of the build, with -modified if files differed from it. It is empty if the build does not know
// its commit.
func Revision() string {
	revision, modified := "", ""
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}

// Version names the build: the published release, or the module's version if it has one, or the release and the commit.
func Version() string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	v := release
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			v += "+" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			v += "-modified"
		}
	}
	return v
}
