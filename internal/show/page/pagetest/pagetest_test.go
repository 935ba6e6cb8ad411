//go:build linux

package pagetest

import (
	"slices"
	"strings"
	"testing"
)

// Other tests rely on that there were no messages, exceptions, violations of the policy or requests. So a tab must
// record them.
func TestMessagesAndRequestsAreRecorded(t *testing.T) {
	b := Start(t).Open(t)
	b.Show(t, []byte(`<!doctype html><html data-shown><head>
<meta http-equiv="Content-Security-Policy" content="style-src 'none'; connect-src data:">
<title>bad</title></head><body><p style="color: red">a</p>
<script>
console.error("told");
fetch("data:text/plain,asked").then(() => fetch("http://127.0.0.1:9/refused")).catch(() => { document.title = "done"; });
setTimeout(() => missing(), 0);
</script></body></html>`))
	b.Until(t, `document.title === "done"`)
	messages, requests := b.Recorded()
	for _, want := range []string{"console error", "missing is not defined", "style", "127.0.0.1:9"} {
		if !slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, want) }) {
			t.Errorf("%q was not recorded: %q", want, messages)
		}
	}
	if !slices.Contains(requests, "data:text/plain,asked") {
		t.Errorf("the request was not recorded: %q", requests)
	}
}
