package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab is a page open in a browser.
type tab struct {
	*testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string // errors of the browser, and requests to other hosts
}

// open opens the page of a server.
func open(t *testing.T, admin string) *tab {
	t.Helper()
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Headless, chromedp.WindowSize(1280, 900), chromedp.NoSandbox)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, base: "http://" + admin}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, 3*giveUp)
	t.Cleanup(cancel)
	b.ctx = ctx
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	b.run(chromedp.Navigate(b.base + "/"))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Error(p)
		}
	})
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.base) {
			b.problems = append(b.problems, "a request to elsewhere: "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork { // requests that fail are shown on the page
			b.problems = append(b.problems, string(e.Entry.Source)+": "+e.Entry.Text)
		}
	}
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// call sends a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.Fatal(err)
	}
}

// value is the result of an expression in the page, as text.
func (b *tab) value(expression string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf("String(%s)", expression)))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return text
}

// until waits for an expression to become true in the page.
func (b *tab) until(expression string) {
	b.Helper()
	for deadline := time.Now().Add(giveUp); b.value(fmt.Sprintf("Boolean(%s)", expression)) != "true"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("in vain: waiting for %s\nthe page says: %s", expression, b.value("document.body.innerText"))
		}
	}
}

// answers waits until the page has shown an answer asked for from here on.
func (b *tab) answers() {
	b.Helper()
	n, _ := strconv.Atoi(b.value("document.body.dataset.answers ?? 0"))
	b.until(fmt.Sprintf("Number(document.body.dataset.answers) > %d", n+1))
}

// screenshot keeps a picture in the folder SCREENSHOTS, if that is set.
func (b *tab) screenshot(name string) {
	b.Helper()
	b.picture(name, chromedp.FullScreenshot(100))
}

func (b *tab) picture(name string, take chromedp.Action[[]byte]) {
	b.Helper()
	picture, err := chromedp.Run(b.ctx, take)
	if err != nil {
		b.Fatal(err)
	}
	if len(picture) < 10_000 {
		b.Errorf("%s: a picture of %d bytes shows nothing", name, len(picture))
	}
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
			b.Error(err)
		}
	}
}

// load gives a server something to show.
func load(t *testing.T, address string) {
	commands := []string{
		"RL.POLICY SET api TB user:{} 20 10/h TB everybody 100000 1000/h", "RL.POLICY SET upload FW upload:{} 5 1h CC busy:{} 2 1h {}",
		"RL.POLICY SET trial SW trial:{} 3 1h SHADOW",
	}
	for user := range 60 {
		for range 1 + 900/(user+1)/(user+2) {
			commands = append(commands, fmt.Sprintf("RL.CHECK api u%d", user))
		}
		commands = append(commands, fmt.Sprintf("RL.CHECK upload u%d", user%7), fmt.Sprintf("RL.CHECK trial u%d", user%9))
	}
	commands = append(commands, "RL.LEND lent TB 100 1/h 12 <script>alert(2)</script> 1 0")
	commands = append(commands, "TB.ACQUIRE <script>alert(1)</script> 1 1/h", "TB.ACQUIRE <script>alert(1)</script> 1 1/h", "TB.ACQUIRE")
	do(t, address, commands...)
}

// Numbers on the page are those of /metrics.
func TestNumbersAreThoseOfMetrics(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	b := open(t, p.admin)
	b.answers()
	want := sums(t, p.admin)
	count, _ := strconv.Atoi(b.value(`document.querySelectorAll("[data-metric]").length`))
	if count < 10 {
		t.Fatalf("only %d numbers on the page", count)
	}
	for i := range count {
		at := fmt.Sprintf(`document.querySelectorAll("[data-metric]")[%d]`, i)
		name := strings.TrimSpace(b.value(at+".dataset.metric") + " " + b.value(at+`.dataset.of ?? ""`))
		shown, err := strconv.ParseFloat(strings.ReplaceAll(b.value(at+".textContent"), ",", ""), 64)
		if value, is := want[name]; err != nil || !is || shown != value {
			t.Errorf("%s is %v on the page and %v at /metrics (%v)", name, shown, value, err)
		}
	}
	if granted := want["stint_decisions_total granted"]; granted < 100 {
		t.Errorf("only %v granted: the comparison says little", granted)
	}
	for _, key := range []string{"user:u0", "user:u1", "upload:u0"} {
		shown := strings.ReplaceAll(b.value(fmt.Sprintf(`document.querySelector('[data-top="%s"]').textContent`, key)), ",", "")
		if value := want["stint_top_denied "+key]; shown != fmt.Sprint(value) || value == 0 {
			t.Errorf("%s was denied %s times on the page and %v at /metrics", key, shown, value)
		}
	}
	b.until(`document.querySelector('[data-lent="lent"]')?.textContent === "12"`)
	if b.value(`document.querySelector("main script") === null`) != "true" {
		t.Error("a key has become markup")
	}
}

// The editor shows the effect of a change before it can be applied, and applies exactly that change.
func TestPolicyEditor(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	b := open(t, p.admin)
	b.until(`document.querySelector('[data-edit="api"]')`)
	b.run(chromedp.Click(chromedp.CSS(`[data-edit="api"]`)))
	if limits := b.value(`document.getElementById("draft-limits").value`); limits != "TB user:{} 20 10/1h\nTB everybody 100000 1000/1h" {
		t.Errorf("the editor has %q", limits)
	}
	disabled := func() bool { return b.value(`document.getElementById("apply").disabled`) == "true" }
	if !disabled() {
		t.Error("a change can be applied unseen")
	}
	b.run(chromedp.Evaluate[chromedp.Void](`document.getElementById("draft-limits").select()`), chromedp.SendKeys(chromedp.CSS("#draft-limits"), "TB user:{} 2 10/h"),
		chromedp.Click(chromedp.CSS("#preview")))
	b.until(`document.querySelector("#effect strong")`)
	effect := b.value(`document.getElementById("effect").innerText`)
	if !strings.Contains(effect, "60 callers: 6 would be denied now, 29 with the change.") {
		t.Errorf("the effect is told as:\n%s", effect)
	}
	b.screenshot("editor")
	b.run(chromedp.SendKeys(chromedp.CSS("#draft-limits"), " "))
	if !disabled() {
		t.Error("what was changed after the preview can be applied")
	}
	b.run(chromedp.Click(chromedp.CSS("#preview")))
	b.until(`!document.getElementById("apply").disabled`)
	b.run(chromedp.Click(chromedp.CSS("#apply")))
	b.until(`document.querySelector('[data-policy="api"] code + *, [data-policy="api"]').innerText.includes("TB user:{} 2 10/1h")`)
	b.run(chromedp.Click(chromedp.CSS(`[data-edit="trial"]`)), chromedp.Evaluate[chromedp.Void](`document.getElementById("draft-limits").select()`), chromedp.SendKeys(chromedp.CSS("#draft-limits"), "nonsense"), chromedp.Click(chromedp.CSS("#preview")))
	b.until(`document.getElementById("effect").innerText.includes("must begin with one of")`)
	if !disabled() {
		t.Error("nonsense can be applied")
	}
	b.run(chromedp.SendKeys(chromedp.CSS("#draft-limits"), kb.Escape))
	b.until(`document.getElementById("editor").hidden`)
}

// Everything can be done from the keyboard, and a key is seen to refill.
func TestKeyboardAndInspector(t *testing.T) {
	p := start(t)
	do(t, p.listen, "TB.ACQUIRE refilling 100000 500/s 100000")
	b := open(t, p.admin)
	b.answers()
	b.run(chromedp.KeyEvent("/"))
	b.until(`document.activeElement.id === "key"`)
	b.run(chromedp.KeyEvent("refilling"))
	if typed := b.value(`document.getElementById("key").value`); typed != "refilling" {
		t.Errorf("%q was typed", typed)
	}
	b.run(chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("#key-result svg path[d*='L']")`)
	left := `Number(document.querySelector("#key-result dd").textContent.replaceAll(",", ""))`
	first := b.value(left)
	b.until(left + " > " + first)
	b.screenshot("key")
	unreachable := b.value(`[...document.querySelectorAll("button, input, textarea, a[href]")].filter((e) => e.tabIndex < 0).length`)
	if unreachable != "0" {
		t.Errorf("%s controls cannot be reached by the Tab key", unreachable)
	}
	nameless := b.value(`[...document.querySelectorAll("button, input, textarea, svg, meter")].filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).map((e) => e.outerHTML).join()`)
	if nameless != "" {
		t.Errorf("a screen reader has no name for %s", nameless)
	}
}

// Light and dark differ, and on a phone nothing is cut off at the side.
func TestLooks(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	b := open(t, p.admin)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // something for the charts
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				load(t, p.listen)
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	b.until(`document.querySelector("#rates path")?.getAttribute("d").split("L").length > 8`)
	background := `getComputedStyle(document.body).backgroundColor`
	scheme := func(name string) {
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	}
	scheme("dark")
	dark := b.value(background)
	b.screenshot("dark")
	scheme("light")
	light := b.value(background)
	if light == dark {
		t.Errorf("light and dark are both %s", light)
	}
	b.screenshot("light")
	b.picture("page", chromedp.CaptureScreenshot())
	b.run(chromedp.Click(chromedp.CSS("#theme")))
	if b.value(background) != dark {
		t.Error("the button does not switch to dark")
	}
	b.run(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	b.answers()
	if wide := b.value("document.documentElement.scrollWidth"); wide != "360" {
		t.Errorf("on a phone 360 wide the page is %s wide", wide)
	}
	b.screenshot("phone")
}

// With a token the page asks for it, and without the right one shows nothing.
func TestToken(t *testing.T) {
	p := start(t, "--admin-token", "open sesame")
	b := open(t, p.admin)
	b.until(`document.getElementById("login").open`)
	b.run(chromedp.SendKeys(chromedp.CSS("#token"), "wrong"+kb.Enter))
	b.until(`document.getElementById("login").open && document.getElementById("token").value === ""`)
	if shown := b.value(`document.querySelectorAll("[data-metric]").length`); shown != "0" {
		t.Errorf("%s numbers are shown without the token", shown)
	}
	b.run(chromedp.SendKeys(chromedp.CSS("#token"), "open sesame"+kb.Enter))
	b.answers()
}
