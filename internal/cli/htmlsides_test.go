package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/show/page"
)

// compare and gate write a page into a file, with the same exit codes as in their other formats.
func TestPagesOfTwoSides(t *testing.T) {
	if err := page.Built(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for i, name := range []string{"base", "new"} {
		m := madeRun{
			arms: []string{"l2", "vxlan"}, workloads: []string{"rr"}, blocks: 10, level: 10e-6 * float64(1+i),
			scatter: 0.03, seed: uint64(i + 1),
		}
		if err := m.write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"compare"}, exitDone, []string{`"kind":"compare"`, `"sources":[`}},
		{
			[]string{"gate", "--fail-if", "rr rtt.p50 > +5%"}, exitGate,
			[]string{`"kind":"gate"`, `"verdict":"fail"`, `"rule":"rr rtt.p50 \u003e +5%"`},
		},
	} {
		file := filepath.Join(dir, c.args[0]+".html")
		args := append(c.args, filepath.Join(dir, "base"), filepath.Join(dir, "new"), "-f", "html", "-o", file)
		var out, errors bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errors); code != c.code {
			t.Errorf("%s: exit code %d: %s", c.args[0], code, errors.String())
		}
		html, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "<!doctype html>", "connect-src 'none'") {
			if !bytes.Contains(html, []byte(want)) {
				t.Errorf("%s: the page lacks %s", c.args[0], want)
			}
		}
	}
}
