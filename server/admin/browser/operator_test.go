package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A limit that denies shows since when and how much; a click lists only its keys.
func TestLimitsThatBite(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	b := open(t, p.admin)
	const limit = `"upload: FW upload:{} 5 1h"`
	b.until(`/^since [0-9][0-9]:[0-9][0-9]$/.test(document.querySelector('[data-since=` + limit + `]')?.innerText)`)
	b.run(chromedp.Evaluate[chromedp.Void](`import("./bites.js").then((m) => { window.ended = m.when({ since: new Date().setHours(0, 44), last: new Date().setHours(0, 45), perSecond: 0 }); }); undefined`))
	b.until(`window.ended === "00:44 to 00:45"`)
	do(t, p.listen, "TB.ACQUIRE ip:1 1 1/h", "TB.ACQUIRE ip:1 1 1/h") // without a policy
	b.until(`document.querySelector('[data-bite="TB ip:* 1 1/1h"]')?.innerText === "1"`)
	b.until(`document.querySelector('#bites .spark[aria-label^="Denied in spans of ten seconds: at most "] rect.full')`)
	b.until(`document.querySelector('[data-look="user:u0"]')`)
	b.run(b.click(`[data-look=` + limit + `]`))
	b.until(`!document.querySelector('#top [data-look="user:u0"]') && document.querySelector('#top [data-look="upload:u0"]')`)
	if pressed := b.value(`document.querySelector('#bites [data-look=` + limit + `]').ariaPressed`); pressed != "true" {
		t.Errorf("the limit that is chosen is pressed: %s", pressed)
	}
	b.accessible("the keys of a limit")
	b.run(b.click("#top-all"))
	b.until(`document.querySelector('#top [data-look="user:u0"]')`)
}

// An operator looks at a key's last minutes, copies a command, resets the key, overrides its caller's limits and undoes
// that.
func TestWhatIsDoneToAKey(t *testing.T) {
	p := start(t)
	do(t, p.listen, "RL.POLICY SET api TB user:{} 2 1/h", "RL.CHECK api a", "RL.CHECK api a", "RL.CHECK api a", "TB.ACQUIRE other 1 1/h")
	b := open(t, p.admin)
	done := func(says string) {
		t.Helper()
		b.until(`document.getElementById("key-done").innerText.includes("` + says + `")`)
	}
	b.run(chromedp.Evaluate[chromedp.Void](`location.hash = "key=user%3Aa"`))
	b.until(`document.querySelector("#key-recent figcaption")?.innerText.startsWith("In the last 5 minutes 2 requests granted and 1 denied at this node.")`)
	if bars := b.value(`document.querySelectorAll("#key-recent rect.denied:not([height='0.0'])").length`); bars != "1" {
		t.Errorf("%s spans have denials, and one denial came", bars)
	}
	b.run(chromedp.Evaluate[chromedp.Void](`navigator.clipboard.writeText = async (text) => { window.copied = text; }; undefined`), b.click("#key-copy"))
	done("Copied: RL.INFO user:a")
	b.until(`window.copied === "RL.INFO user:a"`)
	b.run(chromedp.Evaluate[chromedp.Void](`navigator.clipboard.writeText = async () => { throw new Error("not here"); }; undefined`), b.click("#key-copy"))
	done("Copy this command: RL.INFO user:a")
	b.until(`String(getSelection()) === "RL.INFO user:a"`)

	b.run(b.click("#key-reset"))
	b.until(`document.activeElement.id === "reset-yes"`)
	b.accessible("the question before a reset")
	b.run(b.click("#reset-form [data-cancel]"))
	b.until(`document.getElementById("reset-form").hidden && document.querySelector("#key-result dd").textContent === "0"`)
	b.run(b.click("#key-reset"), b.click("#reset-yes"))
	done("user:a is reset.")
	b.until(`document.getElementById("key-result").innerText.includes("The key does not exist or has expired")`)
	if got := do(t, p.listen, "EXISTS user:a"); got != ":0" {
		t.Errorf("after the reset EXISTS answers %s", got)
	}

	b.run(b.click("#key-override"))
	b.until(`document.getElementById("override-limits").value === "TB user:{} 2 1/1h" && document.getElementById("override-end").disabled`)
	b.accessible("the form of an override")
	limits := func(text string) {
		b.run(chromedp.Evaluate[chromedp.Void](`document.getElementById("override-limits").select()`), chromedp.SendKeys(chromedp.CSS("#override-limits"), text), b.click("#override-yes"))
	}
	limits("nonsense")
	done("must begin with one of")
	limits("TB user:{} 50 1/h")
	done("The limits of a are set.")
	if got := do(t, p.listen, "RL.CHECK api a 40"); !strings.HasPrefix(got, "*4") {
		t.Errorf("with the override a check is answered %s", got)
	}
	b.until(`document.querySelector('[data-why="api"]').innerText.includes("TB user:{} 50 1/1h: 10 of 50 left")`)
	b.run(b.click("#override-undo"))
	done("The limits of a are as they were.")
	b.until(`document.querySelector('[data-why="api"]').innerText.includes("TB user:{} 2 1/1h")`)

	b.run(chromedp.Evaluate[chromedp.Void](`location.hash = "key=other"`)) // no policy has it
	b.until(`document.getElementById("key-override").disabled && document.getElementById("key-done").innerText === ""`)
}

// The page shows who changed a limit.
func TestEvents(t *testing.T) {
	p := start(t)
	do(t, p.listen, "RL.POLICY SET api TB user:{} 2 1/h", "RL.POLICY SET <b>api</b> TB user:{} 2 1/h", "TB.ACQUIRE user:a 2 1/h")
	b := open(t, p.admin)
	b.until(`/[0-9]:[0-9][0-9]:[0-9][0-9] Policy <b>api<.b> was set by user default from 127.0.0.1, after 1 other change in quick succession/.test(document.getElementById("events").innerText)`)
	b.until(`[...document.querySelectorAll("#rates .mark")].some((m) => m.textContent.includes("Policy <b>api</b> was set"))`)
	b.run(chromedp.Evaluate[chromedp.Void](`location.hash = "key=user%3Aa"`))
	b.until(`!document.getElementById("key-actions").hidden`)
	b.run(b.click("#key-reset"), b.click("#reset-yes"))
	b.until(`/Key user:a was reset on the dashboard from 127.0.0.1/.test(document.getElementById("events").innerText)`)
	b.accessible("events")
}

// Each table can be saved as a file with exact numbers, and with keys that no spreadsheet program mistakes for
// formulas.
func TestFilesOfTables(t *testing.T) {
	p := start(t)
	load(t, p.listen)
	do(t, p.listen, `TB.ACQUIRE =1+"1",2 1 1/h`, `TB.ACQUIRE =1+"1",2 1 1/h`)
	b := open(t, p.admin)
	b.run(chromedp.Evaluate[chromedp.Void](`window.files = {}; URL.createObjectURL = (blob) => { window.blob = blob; return "data:,"; };
		HTMLAnchorElement.prototype.click = function () { window.blob.text().then((text) => { window.files[this.download.split("-")[1]] = text; }); }; undefined`))
	b.until(`document.querySelector('[data-bite="api: TB user:{} 20 10/1h"]') && document.querySelector('[data-policy="api"]') && document.querySelector('[data-lent]') && document.querySelector('[data-own^="=1"]')`)
	b.until(`document.querySelector("#rates path")?.getAttribute("d").includes("L")`)
	b.run(chromedp.Evaluate[chromedp.Void](`import("./csv.js").then((m) => { window.cells = m.csv([["\n=1", "\r@a", "-1.5", "a\nb"]]); }); undefined`))
	b.until(`window.cells === '"\'\n=1","\'\r@a",-1.5,"a\nb"\r\n'`)
	for _, tc := range []struct{ button, file, has string }{
		{"top", "keys", "key,limit,denied in 5 minutes,too high by at most,part of its requests\r\nuser:u0,api: TB user:{} 20 10/1h,431,0,1\r\n"},
		{"top", "keys", "\r\n\"'=1+\"\"1\"\",2\",TB * 1 1/1h,1,0,"},
		{"bites", "limits", "\r\napi: TB user:{} 20 10/1h,20"},
		{"policies", "policies", "\r\nupload,FW upload:{} 5 1h,false,false,"},
		{"events", "events", ",start,This server started,"},
		{"lent", "lent", "\r\nlent,12,<script>alert(2)</script>: 12"},
		{"rates", "decisions", "time,granted per second,denied per second,"},
	} {
		b.run(chromedp.Evaluate[chromedp.Void](`document.getElementById("` + tc.button + `-csv").dispatchEvent(new MouseEvent("click"))`))
		b.until(`window.files["` + tc.file + `"]`)
		if text := b.value(`window.files["` + tc.file + `"]`); !strings.Contains(text, tc.has) {
			t.Errorf("the file of %s does not have %q:\n%s", tc.file, tc.has, text)
		}
	}
}
