package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// openSite opens a page of the handbook's site, which is in the folder SITE. A request to another host fails the test.
func openSite(t *testing.T, page string) *tab {
	t.Helper()
	site := os.Getenv("SITE")
	if site == "" {
		t.Fatal("SITE does not name the folder of the built site: run .ci/run browser")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(site)))
	t.Cleanup(server.Close)
	b := open(t, strings.TrimPrefix(server.URL, "http://"))
	b.run(chromedp.Navigate(b.base + "/latest" + page))
	return b
}

func TestSite(t *testing.T) {
	b := openSite(t, "/")
	const query = `[data-md-component="search-query"]`
	b.until(`document.querySelector("h1")?.textContent.startsWith("Stint")`)
	b.run(b.click(query), chromedp.SendKeys(chromedp.CSS(query), "MAXWAIT"))
	b.until(`document.querySelector('.md-search-result__link[href*="rate-limits/"]')`)
	b.scheme("dark")
	b.run(chromedp.Navigate(b.base + "/latest/algorithms/"))
	b.until(`document.body.dataset.mdColorScheme === "slate"`)
	b.until(`document.querySelector(".md-version__current")?.textContent.trim() === "1.0"`)
	const loaded = `performance.getEntriesByType("resource").filter(({ name }) => /playground|wasm/.test(name)).length`
	if got := b.value(loaded); got != "0" {
		t.Errorf("a page of the handbook loads %s files of the playground", got)
	}
	b.keep("site", b.take(chromedp.CaptureScreenshot()))
}

// The engine in the browser makes the decisions that the tests of cmd/playground/traffic check.
func TestPlayground(t *testing.T) {
	b := openSite(t, "/playground/")
	says := func(word, want string) {
		t.Helper()
		b.until(fmt.Sprintf(`document.querySelector('[data-word="%s"] .summary')?.textContent === %q`, word, want))
	}
	b.until(`document.querySelectorAll("#rows section").length === 4`)
	b.run(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name="limit"]').select()`),
		chromedp.SendKeys(chromedp.CSS(`[name="limit"]`), "5"))
	says("TB", "59 granted at once, 141 denied.")
	says("LQ", "1 granted at once, 59 granted after a wait of up to 2.00 s, 140 denied.")
	says("SL", "50 granted at once, 150 denied.")
	b.run(b.click(`[name="FS"]`))
	b.until(`document.querySelectorAll("#rows section").length === 5 && location.hash.includes("limit=5")`)
	b.run(chromedp.Evaluate[chromedp.Void](`location.reload()`))
	// The address keeps what was chosen.
	says("FS", "59 granted at once, 141 denied. busy: 31 of 160 granted; quiet: 28 of 40 granted.")
	b.until(`document.getAnimations().every(({ playState }) => playState === "finished")`)
	b.accessibleIn("#playground", "playground")
	b.screenshot("playground")

	b.run(chromedp.Evaluate[chromedp.Void](`navigator.clipboard.writeText = async (text) => { window.copied = text }`))
	b.run(b.click(`[data-word="FS"] button`))
	if got, want := b.value(`window.copied`), "redis-cli FS.ACQUIRE pool 10 5/s quiet"; got != want {
		t.Errorf("%q was copied, want %q", got, want)
	}
	b.run(chromedp.SendKeys(chromedp.CSS(`[data-word="TB"] .command`), " nonsense"))
	b.until(`document.querySelector('[data-word="TB"] .error').textContent.startsWith("ERR syntax error: TB.ACQUIRE")`)
	call(b, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1, Mobile: true})
	b.until(`document.documentElement.scrollWidth <= 390`)
	b.scheme("dark")
	b.until(`document.body.dataset.mdColorScheme === "slate"`)
	b.accessibleIn("#playground", "playground on a phone, dark")
	b.screenshot("playground-phone-dark")
}
