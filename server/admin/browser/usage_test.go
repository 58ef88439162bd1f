package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page draws the windows that a limit keeps, and the use of the open one.
func TestUsageChart(t *testing.T) {
	p := start(t)
	do(t, p.listen, "FW.ACQUIRE spend 1000 @year 300 HISTORY 3", "FW.ACQUIRE spend 1000 @year 20 HISTORY 3 AS call FOR 1h")
	b := open(t, p.admin)
	b.answers()
	b.run(chromedp.SendKeys(chromedp.CSS("#key"), "spend"), b.click("#key-form button"))
	b.until(`document.querySelectorAll("#key-usage rect").length === 2`)
	if text := b.value(`document.getElementById("key-usage").innerText`); !strings.Contains(text, "300 used, 20 reserved") {
		t.Error(text)
	}
	b.accessible("usage")
}
