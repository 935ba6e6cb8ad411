package ssh

import (
	"strings"
	"testing"

	"nearfar/internal/base/clean"
)

// TestClassify has messages of ssh and of login shells that the tests with a real sshd do not produce.
func TestClassify(t *testing.T) {
	for text, want := range map[string]Cause{
		"No ED25519 host key is known for vm and you have requested strict checking.\r\n" +
			"Host key verification failed.\r\n": KeyUnknown,
		"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n": KeyChanged,
		"Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\r\n":         Denied,
		"me@vm: Permission denied (publickey,keyboard-interactive).\r\n":                            Denied,
		"ssh: connect to host vm port 22: Operation timed out\r\n":                                  TimedOut,
		"ssh: connect to host vm port 22: No route to host\r\n":                                     Unreachable,
		"channel 0: open failed: connect failed: No route to host\r\nstdio forwarding failed\r\n":   Unreachable,
		"channel 0: open failed: administratively prohibited: open failed\r\n":                      Unreachable,
		"exec request failed on channel 0\r\n":                                                      NoShell,
		"exec : The term 'exec' is not recognized as the name of a cmdlet, function\r\n":            Windows,
		"kex_exchange_identification: read: Connection reset by peer\r\n":                           Closed,
		"Connection closed by 10.0.0.1 port 22\r\n":                                                 Closed,
		"Bad owner or permissions on /home/me/.ssh/config\r\n":                                      BadConfig,
	} {
		b := &bootstrap{dialer: &dialer{settings: &Settings{HostName: "vm"}}, c: &connection{}}
		e := &Error{Said: lastLines(text)}
		for _, p := range b.patterns() {
			if b.explains(p, text, e) {
				break
			}
		}
		if e.Cause != want || e.Detail == "" || len(e.Said) == 0 {
			t.Errorf("%q gives %+v, want %q", text, e, want)
		}
	}
}

func TestErrorsAreClean(t *testing.T) {
	text := "\x1b[2Jme\x07@vm\u202e: Permission denied (publickey\x9b).\r\n\x1b]0;title\x07\n"
	b := &bootstrap{dialer: &dialer{settings: &Settings{HostName: "vm"}}, c: &connection{}}
	e := &Error{Name: "vm\x1b[H", Said: lastLines(text)}
	for _, p := range b.patterns() {
		if b.explains(p, text, e) {
			break
		}
	}
	for _, r := range e.Error() {
		if !clean.Shown(r) {
			t.Fatalf("%q acts on a terminal", e.Error())
		}
	}
	if e.Cause != Denied {
		t.Errorf("the cause is %q", e.Cause)
	}
}

func TestLastLinesAreFew(t *testing.T) {
	got := lastLines(strings.Repeat(strings.Repeat("long ", 1000)+"\n", 100))
	if len(got) != mostLines || len(got[0]) > maxShown {
		t.Errorf("%d lines of %d bytes", len(got), len(got[0]))
	}
}

func TestRemoteCommandNeedsNoQuotes(t *testing.T) {
	command := remoteCommand(4321)
	inner := strings.TrimSuffix(strings.TrimPrefix(command, "exec sh -c '"), "'")
	if len(inner)+13 != len(command) || strings.ContainsAny(inner, "'\\!\n`") {
		t.Errorf("login shells read %s in different ways", command)
	}
}

func TestParseSettings(t *testing.T) {
	s := parseSettings("vm", "file", "user me\nhostname 10.0.0.1\nport 2222\nproxyjump a,b\nidentityfile ~/.ssh/x\n"+
		"identityfile /y z\nconnecttimeout 7\nserveraliveinterval 0\nsessiontype none\nstdinnull yes\n")
	if s.User != "me" || s.HostName != "10.0.0.1" || s.Port != "2222" || s.ProxyJump != "a,b" ||
		len(s.IdentityFiles) != 2 || s.IdentityFiles[1] != "/y z" || s.connectTimeout.Seconds() != 7 || s.hasAlive ||
		len(s.override) != 4 {
		t.Errorf("%+v", s)
	}
}
