package browser

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

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

// Numbers on the page are the same as in /metrics.
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
	if by := b.value(`document.querySelector('[data-look="user:u0"] + .soft').textContent`); by != "api: TB user:{} 20 10/1h" {
		t.Errorf("user:u0 is denied by %q", by)
	}
	if own := b.value(`document.querySelector('[data-own="user:u0"]').textContent`); own != "100 %" {
		t.Errorf("of the requests of user:u0 from its first denial on %s are shown as denied", own)
	}
	b.run(b.click(`#top [data-look="user:u0"]`))
	b.until(`document.querySelector('[data-why="api"]')`)
	why := b.value(`document.getElementById("key-result").innerText`)
	for _, says := range []string{"431 denials in the last 5 minutes: 100 % of its 431 requests in the last ", "Policy api would deny the next request:", "TB user:{} 20 10/1h: 0 of 20 left, enough again in 6 min", "TB everybody 100000 1000/1h: 99,"} {
		if !strings.Contains(why, says) {
			t.Errorf("the reasons do not say %q:\n%s", says, why)
		}
	}
	if b.value(`document.querySelector("main script") === null`) != "true" {
		t.Error("a key has become markup")
	}
}

// Numbers are written without exponents, and with at most three digits if they are rounded.
func TestNumbersAreReadable(t *testing.T) {
	p := start(t)
	b := open(t, p.admin)
	b.run(chromedp.Evaluate[chromedp.Void](`import("./dom.js").then((m) => { window.dom = m; }); undefined`))
	b.until(`window.dom`)
	for _, tc := range []struct{ call, want string }{
		{`bytes(0)`, "0 B"}, {`bytes(999)`, "999 B"}, {`bytes(1000)`, "0.977 KB"}, {`bytes(1034000)`, "0.986 MB"}, {`bytes(5e6)`, "4.77 MB"}, {`bytes(9e15)`, "8,190 TB"},
		{`seconds(0)`, "–"}, {`seconds(0.0000123)`, "12.3 µs"}, {`seconds(0.0009996)`, "1 ms"}, {`seconds(0.9996)`, "1 s"}, {`seconds(2000)`, "2,000 s"},
		{`rate(0.5)`, "0.5"}, {`rate(12.34)`, "12.3"}, {`rate(999.7)`, "1K"}, {`rate(1234567)`, "1.23M"},
		{`count(1234567)`, "1,234,567"}, {`span(12.7)`, "13 ms"}, {`span(90000)`, "90 s"}, {`span(7200000)`, "2 h"},
	} {
		if got := b.value("dom." + tc.call); got != tc.want {
			t.Errorf("%s is %s, want %s", tc.call, got, tc.want)
		}
	}
}

// A key has an address, the charts have other ranges, and the limits that deny most are listed.
func TestAddressAndRanges(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	b := open(t, p.admin)
	b.run(chromedp.Evaluate[chromedp.Void](`location.hash = "key=user%3Au0"; location.reload()`))
	b.until(`document.getElementById("key-denials")?.innerText.includes(" denials in the last 5 minutes")`)
	b.until(`document.querySelector('[data-bite="api: TB user:{} 20 10/1h"]')?.innerText === "657"`)
	b.run(b.click(`[data-look="user:u1"]`))
	b.until(`location.hash === "#key=user%3Au1"`)
	// While the server is young, its charts begin with 30 points. The shortest range is selected last, because only its
	// chart has a value for the present this soon.
	for _, tc := range []struct{ minutes, label string }{{"60", "30 min ago"}, {"1440", "30 min ago"}, {"5", " s ago"}} {
		b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(range => { range.value = %q; range.dispatchEvent(new Event("change")) })(document.getElementById("range"))`, tc.minutes)))
		b.until(fmt.Sprintf(`document.querySelector("#rates svg").textContent.includes(%q)`, tc.label))
	}
	b.run(chromedp.Evaluate[chromedp.Void](`(drawing => { const box = drawing.getBoundingClientRect();
		drawing.dispatchEvent(new PointerEvent("pointermove", { clientX: box.right - 1 })) })(document.querySelector("#rates svg"))`))
	b.until(`/^(now|[0-9]+ s ago): [0-9.]+, [0-9.]+$/.test(document.querySelector("#rates svg .at").textContent)`) // also after the chart is drawn again
	b.until(`/, up [0-9]+ s$/.test(document.getElementById("about").textContent)`)
	b.screenshot("address")
}

// The editor shows the effect of a change before it can be applied, and applies exactly that change.
func TestPolicyEditor(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	b := open(t, p.admin)
	b.until(`document.querySelector('[data-edit="api"]')`)
	b.run(b.click(`[data-edit="api"]`))
	if limits := b.value(`document.getElementById("draft-limits").value`); limits != "TB user:{} 20 10/1h\nTB everybody 100000 1000/1h" {
		t.Errorf("the editor has %q", limits)
	}
	disabled := func() bool { return b.value(`document.getElementById("apply").disabled`) == "true" }
	if !disabled() {
		t.Error("a change can be applied unseen")
	}
	b.run(chromedp.Evaluate[chromedp.Void](`document.getElementById("draft-limits").select()`), chromedp.SendKeys(chromedp.CSS("#draft-limits"), "TB user:{} 2 10/h"),
		b.click("#preview"))
	b.until(`document.querySelector("#effect strong")`)
	effect := b.value(`document.getElementById("effect").textContent`)
	if headline := b.value(`document.getElementById("headline").innerText`); headline != "Of 919 recent requests, 71.5 % → 90.3 % would be denied, for 14 more callers." {
		t.Errorf("the effect is summed up as: %s", headline)
	}
	if gone := b.value(`document.querySelector("#effect .diff").innerText`); !strings.Contains(gone, "TB everybody 100000 1000/1h is removed") {
		t.Errorf("the changes are told as:\n%s", gone)
	}
	if !strings.Contains(effect, "60 callers: 6 would be denied now, 29 with the change.") {
		t.Errorf("the effect is told as:\n%s", effect)
	}
	replayed := func(kind string) string {
		return b.value(fmt.Sprintf(`document.querySelector('[data-replay="%s"]').innerText`, kind))
	}
	if happened, then := replayed("happened"), replayed("then"); !strings.HasSuffix(happened, "\t262\t657\t71.5 %\t6") || !strings.HasSuffix(then, "\t89\t830\t90.3 %\t20") || !strings.Contains(effect, "919 requests of 60 callers on api, which came to this node in the last ") {
		t.Errorf("the recent requests are told as:\n%s\n%s\n%s", happened, then, effect)
	}
	b.screenshot("editor")
	b.run(chromedp.SendKeys(chromedp.CSS("#draft-limits"), " "))
	if !disabled() {
		t.Error("what was changed after the preview can be applied")
	}
	b.run(b.click("#preview"))
	b.until(`!document.getElementById("apply").disabled`)
	b.run(b.click("#apply"))
	b.until(`document.querySelector('[data-policy="api"] code + *, [data-policy="api"]').innerText.includes("TB user:{} 2 10/1h")`)
	b.run(b.click("#undo"))
	b.until(`document.querySelector('[data-policy="api"]').innerText.includes("TB everybody 100000 1000/1h")`)

	// Another tab has changed the policy since the preview. Then the draft is applied as a shadow.
	b.run(b.click(`[data-edit="api"]`), b.click("#preview"))
	b.until(`!document.getElementById("apply").disabled`)
	do(t, p.listen, "RL.POLICY SET api TB user:{} 7 10/h")
	b.run(b.click("#apply"))
	b.until(`document.getElementById("effect").innerText.includes("somebody else has changed this policy")`)
	b.run(b.click("#preview"))
	b.until(`document.querySelector("#effect del")?.innerText === "TB user:{} 7 10/1h"`)
	b.run(b.click("#apply-shadow"))
	b.until(`document.querySelector('[data-policy="api"] .pill')?.innerText === "shadow"`)

	// Undoing a new policy removes it.
	b.run(b.click("#new-policy"), chromedp.SendKeys(chromedp.CSS("#draft-name"), "brief"), chromedp.SendKeys(chromedp.CSS("#draft-limits"), "TB brief:{} 2 10/h"), b.click("#preview"))
	b.until(`!document.getElementById("apply").disabled`)
	b.run(b.click("#apply"))
	b.until(`document.querySelector('[data-policy="brief"]')`)
	b.run(b.click("#undo"))
	b.until(`!document.querySelector('[data-policy="brief"]') && document.getElementById("applied").innerText === "brief is gone again."`)

	b.run(b.click(`[data-edit="trial"]`), chromedp.Evaluate[chromedp.Void](`document.getElementById("draft-limits").select()`), chromedp.SendKeys(chromedp.CSS("#draft-limits"), "nonsense"), b.click("#preview"))
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
	do(t, p.listen, "TB.ACQUIRE refilling 100000 500/s 100000", "TB.ACQUIRE denied 1 1/h", "TB.ACQUIRE denied 1 1/h")
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
	if top := b.value(`document.querySelectorAll("#key-result svg text")[2].textContent`); top != "100K" {
		t.Errorf("the scale of the tokens left ends at %s, and the capacity is 100,000", top)
	}
	b.screenshot("key")
	b.run(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-look="denied"]').focus()`))
	b.answers()
	if focused := b.value(`document.activeElement.dataset.look`); focused != "denied" {
		t.Errorf("after the next answer the focus is on %s", focused)
	}
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
		for tick := time.Tick(100 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick:
				load(t, p.listen)
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	b.until(`document.querySelector("#rates path")?.getAttribute("d").split("L").length > 8`)
	kept, _ := strconv.Atoi(b.value(`document.querySelector("#rates path").getAttribute("d").split("L").length`))
	b.run(chromedp.Navigate(b.base + "/"))
	b.until(`document.body.dataset.answers === "1"`)
	if shown, _ := strconv.Atoi(b.value(`document.querySelector("#rates path").getAttribute("d").split("L").length`)); shown < kept {
		t.Errorf("the page showed %d samples, and after it was loaded again %d", kept, shown)
	}
	background := `getComputedStyle(document.body).backgroundColor`
	b.scheme("dark")
	dark := b.value(background)
	b.screenshot("dark")
	b.scheme("light")
	light := b.value(background)
	if light == dark {
		t.Errorf("light and dark are both %s", light)
	}
	b.screenshot("light")
	b.run(b.click("#theme"))
	if b.value(background) != dark {
		t.Error("the button does not switch to dark")
	}
	b.run(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	b.answers()
	if wide := b.value("document.documentElement.scrollWidth"); wide != "360" {
		t.Errorf("on a phone 360 wide the page is %s wide", wide)
	}
	cut := b.value(`[...document.querySelectorAll("main .scroll")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.closest("section").ariaLabelledByElements?.[0].innerText ?? e.innerText).join()`)
	if cut != "" {
		t.Errorf("on a phone these tables are cut: %s", cut)
	}
	b.screenshot("phone")
}

// An element that is hidden is not seen, whatever else the style sheet says about it.
func TestHiddenElements(t *testing.T) {
	b := open(t, start(t).admin)
	b.answers()
	for _, hidden := range []string{"whose", "cluster", "key-section", "editor", "top-more"} {
		if b.value(fmt.Sprintf(`document.getElementById(%q).checkVisibility()`, hidden)) != "false" {
			t.Errorf("%s is seen at a server alone and without traffic", hidden)
		}
	}
	if seen := b.value(`[...document.querySelectorAll("[hidden]")].filter((e) => getComputedStyle(e).display !== "none").map((e) => e.outerHTML).join()`); seen != "" {
		t.Errorf("hidden elements are seen: %s", seen)
	}
}

// If there is a token, the page asks for it, and shows nothing without it.
func TestToken(t *testing.T) {
	p := start(t, "--admin-token", "open sesame")
	b := open(t, p.admin)
	b.until(`document.getElementById("login").open`)
	if hidden := b.value(`document.getElementById("token-wrong").hidden`); hidden != "true" {
		t.Error("the token is called wrong before there is one")
	}
	b.run(chromedp.SendKeys(chromedp.CSS("#token"), "wrong"+kb.Enter))
	b.until(`document.getElementById("login").open && document.getElementById("token").value === "" && document.getElementById("login").innerText.includes("The token is wrong.")`)
	if shown := b.value(`document.querySelectorAll("[data-metric]").length`); shown != "0" {
		t.Errorf("%s numbers are shown without the token", shown)
	}
	b.run(chromedp.SendKeys(chromedp.CSS("#token"), "open sesame"+kb.Enter))
	b.answers()
}
