package ssh

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"nearfar/internal/base/clean"
)

// A pattern recognises a failure in what ssh, or the login shell of the host, prints.
type pattern struct {
	expression string
	cause      Cause
	// detail and advice are templates of package regexp: $1 is the first group.
	detail, advice string
}

const windowsAdvice = "put nearfar-agent.exe there and name it with command:, or start nearfar agent there and use " +
	"agent: in place of ssh:"

// patterns are tried in this order. ssh's messages are English in every locale.
func (b *bootstrap) patterns() []pattern {
	return []pattern{
		{`Host key for (\S+) has changed`, KeyChanged,
			"the host key of $1 is not the one in known_hosts: it was installed anew, or another machine answers",
			"if you know why, remove the old key: ssh-keygen -R $1"},
		{`REMOTE HOST IDENTIFICATION HAS CHANGED`, KeyChanged,
			"the host key is not the one in known_hosts: the host was installed anew, or another machine answers",
			"if you know why, remove the old key with ssh-keygen -R"},
		{`No \S+ host key is known for (\S+) and`, KeyUnknown,
			"known_hosts has no key of $1", "connect once by hand with ssh, and compare the fingerprint"},
		// Without a question, ssh does not say whose key it is.
		{`Host key verification failed`, KeyUnknown,
			"known_hosts has no key of " + b.addressed(),
			"connect once by hand with ssh, and compare the fingerprint"},
		{`(\S+)@(\S+): Permission denied \(([^)]*)\)`, Denied,
			"$2 does not let user $1 in (it offers $3)", "check the user name, and the keys with ssh-add -l"},
		{`Too many authentication failures`, Denied,
			"the host refused all keys that ssh offered, and allows no more",
			"name the right one with IdentityFile and IdentitiesOnly in ssh's configuration"},
		{`Could not resolve hostname (\S+): `, UnknownName,
			"the name $1 has no address", "check the name, or give it a HostName in ssh's configuration"},
		{`connect to host (\S+) port (\d+): Connection refused`, Refused,
			"$1 refuses connections to port $2", "is sshd running there, on this port?"},
		{`connect to host (\S+) port (\d+): .*timed out`, TimedOut,
			"$1 does not answer on port $2", "is it up, and does a firewall drop the packets?"},
		{`connect to host (\S+) port (\d+): (.+)`, Unreachable, "$1 cannot be reached (port $2): $3", ""},
		{`open failed: connect failed: Connection refused`, Refused,
			"the host refuses connections from the jump host", "is sshd running there, on this port?"},
		{`open failed: connect failed: (.+)`, Unreachable,
			"the jump host cannot reach the host: $1", ""},
		{`open failed: administratively prohibited`, Unreachable,
			"the jump host forbids connections to the host", "see AllowTcpForwarding in its sshd_config"},
		{`Connection to UNKNOWN port 65535 timed out`, TimedOut,
			"no connection came about through the jump host " + b.settings.ProxyJump,
			"are the jump host and the host up, and does a firewall drop the packets?"},
		{`timed out during banner exchange`, TimedOut,
			"what answers on the host's port does not greet as sshd does",
			"is it the right port?"},
		{`Unable to negotiate with (\S+) port (\d+): (.+)`, NoAlgorithm,
			"ssh and the sshd of $1 have no algorithm in common: $3", ""},
		{`(Bad configuration option|Bad owner or permissions|bad configuration options)`, BadConfig,
			"ssh refuses its configuration", ""},
		{`hostname contains invalid characters`, BadConfig, "ssh refuses the name", ""},
		{`not recognized as (an internal or external command|the name of a cmdlet)`, Windows,
			"the host runs Windows, where ssh has no POSIX shell",
			windowsAdvice},
		{`(exec|shell) request failed on channel`, NoShell, "the host's sshd runs no commands for this user", ""},
		{`(kex_exchange_identification|Connection (closed|reset) by)`, Closed,
			"the host's sshd closed the connection before the login", "see its log: MaxStartups, or a filter?"},
	}
}

// addressed names the machines that ssh talks to.
func (b *bootstrap) addressed() string {
	if b.settings.ProxyJump == "" {
		return b.settings.HostName
	}
	return b.settings.HostName + ", or none of the jump host " + b.settings.ProxyJump
}

// explain says why the bootstrap ended, if the script did not say it.
func (b *bootstrap) explain(err error) *Error {
	text := b.c.stderr.String()
	e := &Error{Said: lastLines(text)}
	var late errTime
	isLate := errors.As(err, &late)
	if !b.begun && !isLate && b.c.signalled() {
		e.Cause, e.Detail = Interrupted, "ssh was ended by a signal"
		return e
	}
	if own := b.o.Command != "" && b.c.code() != ownFailure; !b.begun && !own {
		for _, p := range b.patterns() {
			if b.explains(p, text+"\n"+string(b.foreign), e) {
				return e
			}
		}
	}
	switch {
	case isLate:
		e.Cause, e.Detail = TimedOut, "the host did not answer in time ("+late.Error()+")"
	case b.begun:
		e.Cause, e.Detail = Closed, "the connection broke while the agent was started ("+b.c.how()+")"
	case b.c.code() == ownFailure:
		e.Cause, e.Detail = Unexplained, "ssh failed ("+b.c.how()+")"
	case b.o.Command != "":
		e.Cause, e.Detail = NoStart, "the command of the file does not start the agent ("+b.c.how()+")"
		e.Advice = "it must run nearfar-agent --stdio, by the path that this program has on the host"
	default:
		e.Cause = NoShell
		e.Detail = "the login shell of the host does not run sh (" + b.c.how() + ")"
	}
	if printed := strings.TrimSpace(string(b.foreign)); printed != "" && !b.begun {
		e.addAdvice("the host printed " + clean.Quote(printed))
	}
	return e
}

// ownFailure is ssh's exit status for its own failures. Any other one is the remote command's.
const ownFailure = 255

// explains fills in e if the pattern occurs in the text.
func (b *bootstrap) explains(p pattern, text string, e *Error) bool {
	expression := regexp.MustCompile(p.expression)
	at := expression.FindStringSubmatchIndex(text)
	if at == nil {
		return false
	}
	expand := func(template string) string {
		return clean.Line(strings.TrimSpace(string(expression.ExpandString(nil, template, text, at))))
	}
	e.Cause, e.Detail, e.Advice = p.cause, expand(p.detail), expand(p.advice)
	if b.settings.ProxyJump == "" {
		return true
	}
	// The first group, or the second after a user's name, is the machine that ssh was talking to.
	group := 1
	if p.cause == Denied {
		group = 2
	}
	if len(at) > 2*group && at[2*group] >= 0 && strings.Contains(p.detail, fmt.Sprintf("$%d ", group)) {
		machine := text[at[2*group]:at[2*group+1]]
		if machine != b.settings.HostName && machine != b.o.Name {
			e.Detail = "a jump host failed: " + e.Detail
		}
	}
	return true
}
