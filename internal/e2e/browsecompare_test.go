//go:build linux

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// compareInBrowser waits for the verdicts of the list, chooses its first two runs and follows the link to their
// comparison. In a window as narrow as a telephone's, neither page may be wider than the window. It ends at the list.
func compareInBrowser(t *testing.T, b *browser, list string) {
	t.Helper()
	const verdicts = `[...document.querySelectorAll("#runs .verdict")]
		.filter(v => v.textContent.startsWith("With ")).length`
	b.until(verdicts + " === document.querySelectorAll(\"#runs tbody a\").length")
	narrow := func() {
		t.Helper()
		var over float64
		b.do(chromedp.EmulateViewport(390, 844))
		b.until("innerWidth === 390")
		if b.eval("document.scrollingElement.scrollWidth - innerWidth", &over); over > 0 {
			t.Errorf("the page is %g pixels wider than the window", over)
		}
		b.do(chromedp.EmulateViewport(1280, 900))
		b.until("innerWidth === 1280")
	}
	narrow()
	for i := range 2 {
		var pressed bool
		b.eval(`(document.querySelectorAll("#runs .choice input:not(:checked)")[0].click(), true)`, &pressed)
		b.until(`document.querySelectorAll("#runs .choice input:checked").length === ` + []string{"1", "2"}[i])
	}
	b.do(chromedp.Click(chromedp.CSS("#runs .pair a")), chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
	var text string
	b.eval(`document.querySelector("#findings").textContent + document.querySelector("#sides").textContent`, &text)
	if !strings.Contains(text, "rr") || !strings.Contains(text, "zones") && !strings.Contains(text, "overlay") {
		t.Errorf("the comparison says %q", text)
	}
	narrow()
	b.do(chromedp.Navigate(list))
	b.until(verdicts + " > 0")
}
