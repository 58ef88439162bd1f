package browser

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// callers are the callers in the picture, with the requests that each makes per second.
var callers = []struct {
	id        string
	perSecond float64
}{{"globex", 31}, {"initech", 24}, {"hooli", 17}, {"umbrella", 14}, {"acme", 12}, {"stark", 9}, {"wayne", 8}, {"tyrell", 7}, {"cyberdyne", 5}, {"wonka", 4}, {"soylent", 3}, {"oscorp", 2}, {"gekko", 1}}

// drive lets the callers make requests until stop is closed, in steps of a tenth of a second. Their rate varies, so
// that there is something to see.
func drive(t *testing.T, address string, phase float64, stop <-chan struct{}) {
	conn, err := net.DialTimeout("tcp", address, giveUp)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	due := make([]float64, len(callers))
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for round := 0; ; round++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		var commands strings.Builder
		for i, c := range callers {
			wave := 1 + 0.35*math.Sin(float64(round)/180+phase+float64(i)) + 0.15*math.Sin(float64(round)/17+float64(i))
			for due[i] += c.perSecond / 10 * wave; due[i] >= 1; due[i]-- {
				fmt.Fprintf(&commands, "RL.CHECK api %s\r\n", c.id)
			}
			if (round+70*i)%900 == 0 {
				fmt.Fprintf(&commands, "RL.CHECK login %s\r\nRL.CHECK export %s\r\n", c.id, c.id)
			}
		}
		if _, err := io.WriteString(conn, commands.String()); err != nil {
			return
		}
	}
}

// letTrafficFlow waits the seconds in PICTURE_SECONDS: with 300 the history of the page is full.
func letTrafficFlow() (seconds int) {
	seconds, _ = strconv.Atoi(os.Getenv("PICTURE_SECONDS"))
	time.Sleep(time.Duration(seconds) * time.Second)
	return seconds
}

var picturePolicies = []string{
	"RL.POLICY SET api TB user:{} 60 40/s TB everybody 5000 500/s", "RL.POLICY SET login FW login:{} 5 1m",
	"RL.POLICY SET export SW export:{} 8 1h SHADOW",
}

// openUnderTraffic opens the dashboard of one server that has stored policies, and has had traffic for a while.
func openUnderTraffic(t *testing.T, policies ...string) *tab {
	p := start(t)
	do(t, p.listen, policies...)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	for i := range 2 {
		go drive(t, p.listen, float64(i), stop)
	}
	letTrafficFlow()
	return open(t, p.admin)
}

// The picture in the handbook: traffic, a cluster, the most denied keys, one of them in detail, and policies.
func TestPicture(t *testing.T) {
	nodes := startCluster(t)
	for id, p := range nodes {
		until(t, "a leader is known to "+id, func() bool { return sums(t, p.admin)["stint_raft_has_leader"] == 1 })
	}
	do(t, nodes["a"].listen, picturePolicies...)
	stop := make(chan struct{})
	defer close(stop)
	for i, id := range []string{"a", "b", "c"} {
		go drive(t, nodes[id].listen, float64(i), stop)
	}
	seconds := letTrafficFlow()
	b := open(t, nodes["a"].admin)
	b.scheme("light")
	b.until(`document.querySelector('[data-look="user:globex"]') && document.querySelector('[data-policy="api"]')`)
	b.run(b.click(`#top [data-look="user:globex"]`))
	b.until(fmt.Sprintf(`document.querySelector("#key-result path")?.getAttribute("d").split("L").length > %d`, max(3, min(seconds, 50))))
	bottom, _ := strconv.Atoi(b.value(`Math.ceil(document.getElementById("policies").parentElement.getBoundingClientRect().bottom + scrollY + 16)`))
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1280, Height: int64(bottom), DeviceScaleFactor: 1})
	b.answers()
	b.run(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
	b.keep("page", smaller(t, b.take(chromedp.CaptureScreenshot())))
	b.accessible("the picture")
}

// The pictures at the top of the README: the dashboard of one server under traffic, light and dark.
func TestPictureOfTheDashboard(t *testing.T) {
	b := openUnderTraffic(t, picturePolicies...)
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1200, Height: 700, DeviceScaleFactor: 1})
	b.until(`document.querySelector('[data-policy="api"]')`)
	for scheme, name := range map[string]string{"light": "dashboard", "dark": "dashboard-dark"} {
		b.scheme(scheme)
		b.answers()
		b.keep(name, smaller(t, b.take(chromedp.CaptureScreenshot())))
		b.accessible("the " + scheme + " picture of the dashboard")
	}
}

// Another picture in the README: the effect of a change that is not applied yet.
func TestPictureOfAnEffect(t *testing.T) {
	b := openUnderTraffic(t, picturePolicies[0])
	b.scheme("light")
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 820, Height: 1400, DeviceScaleFactor: 1})
	b.until(`document.querySelector('[data-edit="api"]')`)
	b.run(b.click(`[data-edit="api"]`), chromedp.Evaluate[chromedp.Void](`document.getElementById("draft-limits").select()`),
		chromedp.SendKeys(chromedp.CSS("#draft-limits"), "TB user:{} 30 25/s\nTB everybody 5000 500/s"), b.click("#preview"))
	b.until(`document.querySelector("#headline")`)
	b.run(chromedp.Evaluate[chromedp.Void](`document.getElementById("effect").style.padding = "16px"`))
	b.keep("effect", smaller(t, b.take(chromedp.Screenshot(chromedp.CSS("#effect")))))
	b.accessible("the picture of an effect")
}
