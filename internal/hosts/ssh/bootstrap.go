package ssh

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/onhost/host"
)

//go:embed bootstrap.sh
var bootstrapScript string

// Limits of what the host may print before the agent's byte stream begins.
const (
	maxLine = 8 << 10
	// maxForeign bounds what the startup files of the login shell print.
	maxForeign = 64 << 10
	// chunk is how many bytes of the agent are written at once.
	chunk = 64 << 10
)

// errGone says that the agent's folder is not there any more.
var errGone = errors.New("the agent's folder is gone")

// A bootstrap carries out nearfar's part of the script on one connection.
type bootstrap struct {
	*dialer
	c *connection
	// mark begins each line of the script. It is random, so that no other output is taken for the script's.
	mark string
	// foreign are the bytes before the script's first line.
	foreign []byte
	// begun says that the script has printed its first line.
	begun bool
	// unusable are the folders that the script tried without success.
	unusable []unusable
	timer    *time.Timer
}

// unusable is a folder that cannot hold the agent.
type unusable struct{ base, why string }

// script is the script for this connection.
func (b *bootstrap) script() string {
	sudo := ""
	if b.o.Sudo {
		sudo = "1"
	}
	variables := fmt.Sprintf("mark=%s id=%s folder=%s again=%s sudo=%s\n",
		quoteWord(b.mark), quoteWord(b.id), quoteWord(b.o.Folder), quoteWord(b.folder), quoteWord(sudo))
	return variables + bootstrapScript
}

// introduction is what the host's own command reads first, with a line to print as the script prints its lines.
func (b *bootstrap) introduction(ctx context.Context) string {
	i := b.o.Agent.Introduction(ctx)
	i.Mark = b.mark + "\tagent"
	var line strings.Builder
	_, _ = i.WriteTo(&line) // it cannot fail
	return line.String()
}

// quoteWord quotes a text as one word for a POSIX shell.
func quoteWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// errTime says that the host was silent for longer than the limit of a step.
type errTime struct {
	limit time.Duration
	step  string
}

func (e errTime) Error() string { return fmt.Sprintf("nothing came for %v while %s", e.limit, e.step) }

// run sends the script and answers it until the byte stream of the agent begins.
func (b *bootstrap) run(script string, t *tty) error {
	limit := cmp.Or(b.settings.connectTimeout, connectTimeout) + stepTimeout
	if t != nil {
		limit += promptTimeout
	} else if !b.alone && b.settings.hasMaster() {
		limit = masterTimeout
	}
	step := "ssh connected"
	late := make(chan struct{})
	b.timer = time.AfterFunc(limit, func() {
		close(late)
		b.c.kill()
	})
	defer b.timer.Stop()
	err := b.talk(script, t, &step, &limit)
	select {
	case <-late:
		return errTime{limit, step}
	default:
		return err
	}
}

func (b *bootstrap) talk(script string, t *tty, step *string, limit *time.Duration) error {
	// A failure to write shows as the end of what ssh prints.
	go func() { _, _ = io.WriteString(b.c.in, script) }()
	for {
		words, err := b.line()
		if err != nil {
			return err
		}
		if t != nil {
			t.back() // ssh has asked all that it asks
		}
		*limit, *step = stepTimeout, "the host prepared the agent's folder"
		b.timer.Reset(*limit)
		switch words[0] {
		case "system":
			if err := b.offer(words); err != nil {
				return err
			}
		case "unusable":
			if len(words) < 3 {
				return b.odd(words)
			}
			why := whyUnusable(words[2], strings.Join(words[3:], " "))
			b.unusable = append(b.unusable, unusable{clean.Line(words[1]), why})
		case "want":
			*limit, *step = copyTimeout, "the agent was copied"
			b.timer.Reset(*limit)
			go b.send(len(words) == 2 && words[1] == "gzip")
		case "stored":
			*step = "the agent started"
		case "gone":
			return errGone
		case "failed":
			return b.failed(words)
		case "ready":
			return b.ready(words)
		case "agent": // the host's own command
			return nil
		default:
			return b.odd(words)
		}
	}
}

// odd is the error for a line that the script does not print.
func (b *bootstrap) odd(words []string) error {
	return &Error{Cause: NoShell, Detail: "the host printed " + clean.Quote(strings.Join(words, " ")) +
		" in place of the lines of nearfar's script"}
}

// offer answers the system and architecture of the host with the agent's hash and sizes.
func (b *bootstrap) offer(words []string) error {
	if len(words) != 3 {
		return b.odd(words)
	}
	detail := clean.Line(fmt.Sprintf("the host runs %s on %s", words[1], words[2]))
	system := host.System{OS: goSystem(words[1]), Arch: goArch(words[2])}
	if system.OS == "windows" {
		return &Error{Cause: Windows, Detail: detail, Advice: windowsAdvice}
	}
	p, err := b.o.Agents(system)
	if err != nil {
		return &Error{Cause: NoAgent, Detail: detail, Advice: clean.Line(err.Error())}
	}
	b.program = p
	_, err = fmt.Fprintf(b.c.in, "%s %d %d\n", p.SHA256, p.Size, len(p.Gzip))
	return ignoreWrite(err)
}

// ignoreWrite drops the error of a write to ssh: why ssh has ended is known when its output ends.
func ignoreWrite(error) error { return nil }

// goSystem is the value of GOOS for what uname -s prints.
func goSystem(uname string) string {
	for _, windows := range []string{"MINGW", "MSYS", "CYGWIN", "Windows"} {
		if strings.HasPrefix(uname, windows) {
			return "windows"
		}
	}
	return strings.ToLower(uname)
}

// goArch is the value of GOARCH for what uname -m prints.
func goArch(uname string) string {
	switch uname {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64", "armv8b", "armv8l":
		return "arm64"
	}
	return uname
}

// send writes the program. Each chunk that ssh took counts as progress.
func (b *bootstrap) send(packed bool) {
	var r io.Reader = bytes.NewReader(b.program.Gzip)
	if !packed {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			b.c.kill()
			return
		}
		r = io.LimitReader(unpacked, b.program.Size)
	}
	piece := make([]byte, chunk)
	for {
		n, err := io.ReadFull(r, piece)
		if n > 0 {
			if _, err := b.c.in.Write(piece[:n]); err != nil {
				return
			}
			b.timer.Reset(copyTimeout)
		}
		if err != nil {
			return
		}
	}
}

// ready ends the script's part.
func (b *bootstrap) ready(words []string) error {
	if len(words) != 2 || !strings.HasPrefix(words[1], "/") {
		return b.odd(words)
	}
	b.folder = words[1]
	if b.o.Note != nil {
		for _, u := range b.unusable {
			b.o.Note(fmt.Sprintf("%s: %s; the agent is in %s", u.base, u.why, clean.Line(b.folder)))
		}
	}
	b.unusable = nil
	return nil
}

// failed turns the script's last line into an error.
func (b *bootstrap) failed(words []string) error {
	text := ""
	if len(words) > 2 {
		text = withoutShell(clean.Line(strings.TrimSpace(words[2])))
	}
	if len(words) < 2 {
		return b.odd(words)
	}
	switch words[1] {
	case "folder":
		return b.noFolder()
	case "write":
		if isFull(text) {
			return &Error{Cause: NoSpace, Detail: "the agent does not fit on the host: " + text}
		}
		return &Error{Cause: NoFolder, Detail: "the agent cannot be stored: " + text}
	case "hash":
		return &Error{Cause: BadCopy, Detail: "the agent arrived damaged: its hash is " + text}
	case "start":
		return &Error{Cause: NoStart, Detail: "the agent does not start on the host: " + text}
	case "sudo":
		return &Error{Cause: Sudo, Detail: sudoDetail(text)}
	}
	return b.odd(words)
}

func sudoDetail(text string) string {
	if strings.Contains(text, "password is required") {
		return "sudo asks for a password there (" + text +
			"): allow this user NOPASSWD, or leave out sudo: true"
	}
	return "sudo -n does not start the agent: " + text
}

// noFolder says of each folder that was tried why it cannot hold the agent. Its cause is the one of the last folder.
func (b *bootstrap) noFolder() error {
	e := &Error{Cause: NoFolder, Detail: "no folder on the host can hold the agent"}
	if b.o.Folder != "" {
		e.Detail = "the folder on the host cannot hold the agent"
	}
	separator := ": "
	for _, u := range b.unusable {
		e.Detail += separator + u.base + ": " + u.why
		separator = ", "
		switch u.why {
		case noexec:
			e.Cause = NoExec
		case noSpace:
			e.Cause = NoSpace
		}
	}
	e.Advice = "set folder: to one where this user may write and execute programs"
	return e
}

// Reasons why a folder cannot hold the agent, where the program's own words are not enough.
const (
	noexec  = "programs may not be executed there (noexec)"
	noSpace = "no space is left there"
)

func whyUnusable(step, text string) string {
	switch {
	case step == "execute":
		return noexec
	case step == "length":
		return "its path is too long for a socket"
	case isFull(text):
		return noSpace
	case strings.Contains(text, "Permission denied"):
		return "this user may not write there"
	case strings.Contains(text, "Read-only file system"):
		return "it is on a file system that is mounted read-only"
	}
	return withoutShell(clean.Line(strings.TrimSpace(text)))
}

// withoutShell removes the place in the script from a message of the shell: "sh: 69: eval: ".
func withoutShell(text string) string {
	return regexp.MustCompile(`^\S*sh: (line )?\d+: (eval: )?`).ReplaceAllString(text, "")
}

func isFull(text string) bool {
	return strings.Contains(text, "No space left on device") || strings.Contains(text, "quota exceeded")
}

// line reads the next line of the script, as its fields. Text before the first line is kept in foreign.
func (b *bootstrap) line() ([]string, error) {
	for {
		line, err := readLine(b.c.out)
		// The last output of the login shell may have no newline.
		if _, rest, ok := strings.Cut(string(line), b.mark+"\t"); ok && err == nil {
			b.begun = true
			return strings.Split(rest, "\t"), nil
		}
		b.foreign = append(b.foreign, line...)
		b.foreign = append(b.foreign, '\n')
		if err != nil {
			return nil, err
		}
		if len(b.foreign) > maxForeign {
			return nil, &Error{Cause: NoShell,
				Detail: "the login shell prints without end: " + clean.Quote(string(b.foreign))}
		}
	}
}

// readLine reads a line without its end. Longer lines than maxLine are returned in pieces.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return bytes.TrimRight(slices.Clone(line), "\r\n"), err
}
