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

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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
		if !strings.HasPrefix(e.Request.URL, b.base) && !strings.HasPrefix(e.Request.URL, "data:") {
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

// value returns the result of an expression in the page, as text.
func (b *tab) value(expression string) string {
	b.Helper()
	text, err := b.evaluate(expression)
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return text
}

func (b *tab) evaluate(expression string) (text string, err error) {
	return chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf("String(%s)", expression)))
}

// until waits for an expression to become true in the page. While the page is loaded again, it has an error.
func (b *tab) until(expression string) {
	b.Helper()
	came, failed := false, error(nil)
	defer func() {
		if !came {
			b.Logf("%v; the page says: %s", failed, b.value("document.body.innerText"))
		}
	}()
	until(b.T, expression, func() bool {
		text, err := b.evaluate(fmt.Sprintf("Boolean(%s)", expression))
		came, failed = text == "true", err
		return came
	})
}

// click waits until the first element of a selector can be clicked, and clicks it in the same step. chromedp.Click
// clicks at coordinates, where another element is if the page shifts after they were read.
func (b *tab) click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(context.Context, *chromedp.Target) error {
		b.Helper()
		b.until(fmt.Sprintf(`((element) => {
			if (!element?.checkVisibility({ visibilityProperty: true }) || element.disabled) return false;
			element.scrollIntoViewIfNeeded();
			const { x, y, width, height } = element.getClientRects()[0];
			if (!element.contains(document.elementFromPoint(x + width / 2, y + height / 2))) return false; // something covers it
			element.focus({ focusVisible: false }); // as the mouse does
			element.click();
			return true;
		})(document.querySelector(%q))`, selector))
		return nil
	})
}

// answers waits until the page shows an answer that was requested after this call.
func (b *tab) answers() {
	b.Helper()
	n, _ := strconv.Atoi(b.value("document.body.dataset.answers ?? 0"))
	b.until(fmt.Sprintf("Number(document.body.dataset.answers) > %d", n+1))
}

// screenshot saves a picture in the folder SCREENSHOTS, if that is set.
func (b *tab) screenshot(name string) {
	b.Helper()
	b.keep(name, b.take(chromedp.FullScreenshot(100)))
}

func (b *tab) take(how chromedp.Action[[]byte]) []byte {
	b.Helper()
	picture, err := chromedp.Run(b.ctx, how)
	if err != nil {
		b.Fatal(err)
	}
	return picture
}

func (b *tab) keep(name string, picture []byte) {
	b.Helper()
	if len(picture) < 10_000 {
		b.Errorf("%s: a picture of %d bytes shows nothing", name, len(picture))
	}
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
			b.Error(err)
		}
	}
}

// scheme draws the page light or dark.
func (b *tab) scheme(name string) {
	b.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// A click does not miss on a page that shifts at every frame.
func TestClicksOnAPageThatShifts(t *testing.T) {
	b := open(t, start(t).admin)
	b.run(chromedp.Evaluate[chromedp.Void](`(() => {
		const box = document.createElement("div"), button = document.createElement("button");
		button.id = "target";
		button.textContent = "click";
		document.body.prepend(box, button);
		window.clicks = 0;
		button.addEventListener("click", () => window.clicks++);
		const shift = (n) => { box.style.height = n % 2 ? "200px" : "0"; requestAnimationFrame(() => shift(n + 1)); };
		shift(0);
	})()`))
	const clicks = 20
	for range clicks {
		b.run(b.click("#target"))
	}
	if got := b.value(`window.clicks`); got != strconv.Itoa(clicks) {
		t.Errorf("%s of %d clicks came", got, clicks)
	}
}
