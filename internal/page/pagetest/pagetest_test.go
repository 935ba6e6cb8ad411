//go:build linux

package pagetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// What other tests rely on not to be there is heard when it is there: messages, exceptions, violations of the policy,
// requests.
func TestComplaintsAreHeard(t *testing.T) {
	b := Open(t)
	b.Show(t, []byte(`<!doctype html><html data-shown><head>
<meta http-equiv="Content-Security-Policy" content="style-src 'none'; connect-src data:">
<title>bad</title></head><body><p style="color: red">a</p>
<script>
console.error("told");
fetch("data:text/plain,asked").then(() => fetch("http://127.0.0.1:9/refused")).catch(() => { document.title = "done"; });
setTimeout(() => missing(), 0);
</script></body></html>`))
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.title === "done"`)); err != nil {
		t.Fatal(err)
	}
	complaints, requests := b.Heard()
	for _, want := range []string{"console error", "missing is not defined", "style", "127.0.0.1:9"} {
		if !slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(c, want) }) {
			t.Errorf("nothing was heard of %q: %q", want, complaints)
		}
	}
	if !slices.Contains(requests, "data:text/plain,asked") {
		t.Errorf("the request was not seen: %q", requests)
	}
}
