package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/stintdb/stint/internal/testprocess"
)

// axe is the text of axe-core, at the version that package-lock.json pins.
var axe = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	install := testprocess.Command(ctx, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
	if output, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", install, err, output)
	}
	text, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	return string(text), err
})

// finding is a rule of axe-core that elements of the page violate.
type finding struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// accessible checks the page in its present state against all rules of axe-core.
func (b *tab) accessible(state string) {
	b.Helper()
	b.accessibleIn("html", state)
}

// accessibleIn checks a part of the page.
func (b *tab) accessibleIn(selector, state string) {
	b.Helper()
	text, err := axe()
	if err != nil {
		b.Fatal(err)
	}
	b.run(chromedp.Evaluate[chromedp.Void](text + `; window.checked = undefined;
		axe.run(` + strconv.Quote(selector) + `).then((all) => window.checked = JSON.stringify({ violations: all.violations, passed: all.passes.map((p) => p.id) }), (error) => window.checked = String(error)); undefined`))
	b.until(`window.checked`)
	var checked struct {
		Violations []finding
		Passed     []string
	}
	answer := b.value(`window.checked`)
	if err := json.Unmarshal([]byte(answer), &checked); err != nil {
		b.Fatalf("%s: axe-core answers %s", state, answer)
	}
	if !strings.Contains(strings.Join(checked.Passed, " "), "color-contrast") {
		b.Errorf("%s: no contrast was checked, only %s", state, checked.Passed)
	}
	for _, v := range checked.Violations {
		for _, n := range v.Nodes {
			b.Errorf("%s: %s (%s)\n%s\n%s", state, v.ID, v.Help, n.HTML, n.FailureSummary)
		}
	}
	b.Logf("%s: %d rules of axe-core passed", state, len(checked.Passed))
}

// Every part of the page follows the rules of axe-core: light, dark, and at the width of a phone.
func TestAccessible(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	b := open(t, p.admin)
	b.answers()
	b.run(chromedp.SendKeys(chromedp.CSS("#key"), "user:u0"), b.click("#key-form button"))
	b.until(`document.querySelector("#key-result svg")`)
	b.until(`document.querySelector('[data-edit="api"]')`)
	b.run(b.click(`[data-edit="api"]`), chromedp.Evaluate[chromedp.Void](`document.getElementById("draft-limits").select()`),
		chromedp.SendKeys(chromedp.CSS("#draft-limits"), "TB user:{} 2 10/h"), b.click("#preview"))
	b.until(`document.querySelector("#effect td")`)
	for _, name := range []string{"light", "dark"} {
		b.scheme(name)
		b.run(chromedp.EmulateViewport(1280, 900))
		b.accessible(name)
		b.run(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
		b.accessible(name + ", phone")
	}
	b.run(b.click("#cancel"))
	p.Stop(t)
	b.until(`!document.getElementById("problem").hidden`)
	for _, name := range []string{"light", "dark"} {
		b.scheme(name)
		b.accessible(name + ", without a server")
	}
}

// The dialog that asks for the token follows the rules of axe-core.
func TestLoginIsAccessible(t *testing.T) {
	p := start(t, "--admin-token", "open sesame")
	b := open(t, p.admin)
	b.until(`document.getElementById("login").open`)
	for _, name := range []string{"light", "dark"} {
		b.scheme(name)
		b.accessible(name)
	}
}
