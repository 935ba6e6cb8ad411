package ssh

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"nearfar/internal/base/clean"
)

// Settings are ssh's settings for a name (ssh -G).
type Settings struct {
	// Name is the name that was looked up.
	Name string
	// User, HostName and Port are where ssh connects to.
	User, HostName, Port string
	// ProxyJump is the jump host, or several separated by commas; ProxyCommand is the command that connects. Both may
	// be empty.
	ProxyJump, ProxyCommand string
	// IdentityFiles are the files of private keys that ssh tries, whether they exist or not.
	IdentityFiles []string
	// Config lists the configuration files that ssh read. Files that those include are not listed.
	Config []string
	// connectTimeout is zero if the configuration does not set it.
	connectTimeout time.Duration
	// hasAlive says that the configuration sets ServerAliveInterval.
	hasAlive bool
	// controlPath is where a master's socket is; empty for none.
	controlPath string
	// override holds options that undo settings under which ssh would not run a command with standard input.
	override []string
}

// Expand asks ssh for its settings for a name. config is a configuration file, or empty for the user's and the
// system's. The error is an *Error. An ssh that is killed is asked once more, and one whose output did not end with it
// (this program had no CPU time to read it, or a command of the configuration keeps it open) a few times.
func Expand(ctx context.Context, config, name string) (Settings, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	out, said, err := settingsText(ctx, config, name)
	for again := 0; again < 3 && ctx.Err() == nil; again++ {
		if open := errors.Is(err, exec.ErrWaitDelay); !open && (again > 0 || !killed(err)) {
			break
		}
		out, said, err = settingsText(ctx, config, name)
	}
	if err == nil {
		return parseSettings(name, config, out), nil
	}
	failure := &Error{Name: name, Said: lastLines(said)}
	if _, statErr := os.Stat(config); config != "" && statErr != nil {
		failure.Cause = NoConfig
		failure.Detail = fmt.Sprintf("ssh's configuration file %s cannot be read", clean.Line(config))
	} else if errors.Is(err, exec.ErrNotFound) {
		failure.Cause, failure.Detail = NoSSH, "ssh is not installed on this machine, or not on the PATH"
	} else if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		failure.Cause = Unexplained
		failure.Detail = "ssh ended, and its output did not: does a command of its configuration (Match exec) go on?"
	} else if ctx.Err() != nil || killed(err) {
		failure.Cause = Unexplained
		failure.Detail = "ssh ended before it had told its settings (" + err.Error() + ")"
	} else {
		failure.Cause, failure.Detail = BadConfig, "ssh refuses its configuration or the name ("+err.Error()+")"
	}
	return Settings{}, failure
}

// settingsText runs ssh -G, and gives what it printed to standard output and to standard error.
func settingsText(ctx context.Context, config, name string) (out, said string, err error) {
	cmd := exec.CommandContext(ctx, sshProgram, append(configArguments(config), "-G", "--", name)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	detach(cmd)
	printed, err := cmd.Output()
	return string(printed), stderr.String(), err
}

// killed says whether a program was ended by a signal.
func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && !exit.Exited()
}

// sshProgram is the system's ssh.
const sshProgram = "ssh"

func configArguments(config string) []string {
	if config == "" {
		return nil
	}
	return []string{"-F", config}
}

// parseSettings reads the output of ssh -G.
func parseSettings(name, config, out string) Settings {
	s := Settings{Name: name, Config: configFiles(config)}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "user":
			s.User = value
		case "hostname":
			s.HostName = value
		case "port":
			s.Port = value
		case "proxyjump":
			s.ProxyJump = value
		case "proxycommand":
			s.ProxyCommand = value
		case "identityfile":
			s.IdentityFiles = append(s.IdentityFiles, value)
		case "connecttimeout":
			if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
				s.connectTimeout = time.Duration(seconds) * time.Second
			}
		case "serveraliveinterval":
			s.hasAlive = value != "0"
		case "controlpath":
			if value != "none" {
				s.controlPath = value
			}
		}
		if needed := neededSettings()[key]; needed != "" && !strings.HasSuffix(needed, "="+value) {
			s.override = append(s.override, "-o", needed)
		}
	}
	return s
}

// neededSettings are the settings without which ssh would not run a command with standard input, by their names in the
// output of ssh -G.
func neededSettings() map[string]string {
	return map[string]string{
		"sessiontype": "SessionType=default", "stdinnull": "StdinNull=no",
		"forkafterauthentication": "ForkAfterAuthentication=no",
	}
}

// hasMaster says whether there is a socket of a master, of the user or stale.
func (s Settings) hasMaster() bool {
	if s.controlPath == "" {
		return false
	}
	info, err := os.Lstat(s.controlPath)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// configFiles lists the configuration files that exist among those that ssh reads.
func configFiles(config string) []string {
	if config != "" {
		return []string{config}
	}
	system := "/etc/ssh/ssh_config"
	if runtime.GOOS == "windows" {
		system = filepath.Join(os.Getenv("ProgramData"), "ssh", "ssh_config")
	}
	var files []string
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".ssh", "config"))
	}
	return existing(append(files, system))
}

// existing returns the files that exist. A leading ~ is the home directory.
func existing(files []string) []string {
	var there []string
	for _, f := range files {
		path := f
		if rest, ok := strings.CutPrefix(f, "~"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				path = home + rest
			}
		}
		if _, err := os.Stat(path); err == nil {
			there = append(there, f)
		}
	}
	return there
}

// WriteSettings prints a table of ssh's settings for each name, in the given order. The names that ssh refuses follow
// with the reasons, and make ok false. hosts and names belong together by their index.
func WriteSettings(ctx context.Context, w io.Writer, config string, hosts, names []string) (ok bool, err error) {
	ok = true
	var used, refused []string
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "host\tssh name\tuser\taddress\tport\tthrough\tkeys")
	for i, name := range names {
		s, err := Expand(ctx, config, name)
		if err != nil {
			ok = false
			var failure *Error
			errors.As(err, &failure)
			refused = append(refused, clean.Line(hosts[i])+": "+failure.Error())
			continue
		}
		used = s.Config
		keys := existing(s.IdentityFiles)
		if os.Getenv("SSH_AUTH_SOCK") != "" {
			keys = append(keys, "ssh-agent")
		}
		cells := []string{hosts[i], name, s.User, s.HostName, s.Port, s.ProxyJump + s.ProxyCommand,
			strings.Join(keys, ", ")}
		for i, cell := range cells {
			cells[i] = cmp.Or(clean.Line(cell), "-")
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return ok, err
	}
	if len(used) > 0 {
		refused = append([]string{"ssh reads " + clean.Line(strings.Join(used, ", "))}, refused...)
	}
	for _, line := range refused {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return ok, err
		}
	}
	return ok, nil
}

// arguments is the command line of ssh without its first word. script is the length of the script in bytes.
func (d *dialer) arguments(script int, prompts bool) []string {
	s := d.settings
	batch := "BatchMode=yes"
	if prompts {
		batch = "BatchMode=no"
	}
	a := append(configArguments(d.o.Config),
		"-T", "-a", "-x", "-e", "none",
		"-o", batch,
		// Messages are read from standard error, also if the configuration asks for silence or for debugging.
		"-o", "LogLevel=INFO",
		// A master that the user has may be used, but this session is none: it must end with the run.
		"-o", "ControlMaster=no",
		// Forwardings and commands of the user's configuration are for sessions by hand.
		"-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no")
	if s.connectTimeout == 0 {
		a = append(a, "-o", fmt.Sprintf("ConnectTimeout=%d", connectTimeout/time.Second))
	}
	if !s.hasAlive {
		a = append(a, "-o", fmt.Sprintf("ServerAliveInterval=%d", aliveInterval/time.Second),
			"-o", fmt.Sprintf("ServerAliveCountMax=%d", aliveCount))
	}
	if d.alone {
		a = append(a, "-o", "ControlPath=none")
	}
	a = append(a, s.override...)
	remote := d.o.Command
	if remote == "" {
		remote = remoteCommand(script)
	}
	return append(a, "--", d.o.Name, remote)
}

// remoteCommand runs the script of that many bytes, which comes over standard input. The user's login shell reads this
// line; sh, csh, fish and others agree on words in single quotes without backslash, exclamation mark and newline.
func remoteCommand(script int) string {
	return fmt.Sprintf(`exec sh -c 'eval "$(head -c %d)"'`, script)
}
