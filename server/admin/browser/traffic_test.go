package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// Every node shows the charts of the whole cluster. A lost node is named and shaded, and can be shown alone.
func TestChartsOfTheCluster(t *testing.T) {
	nodes := startCluster(t)
	for id, p := range nodes {
		until(t, "a leader is known to "+id, func() bool { return sums(t, p.admin)["stint_raft_has_leader"] == 1 })
	}
	stop := make(chan struct{})
	defer close(stop)
	do(t, nodes["a"].listen, picturePolicies[0])
	go drive(t, nodes["a"].listen, 1, stop)
	b := open(t, nodes["b"].admin) // which has no clients of its own
	b.until(`document.getElementById("in-sum").textContent.startsWith("All 3 nodes, added up.")`)
	granted := `Number(document.querySelector("#tiles dd.granted").textContent) > 0`
	b.until(granted)
	choose := func(node string) {
		b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(select => { select.value = %q; select.dispatchEvent(new Event("change")) })(document.getElementById("node"))`, node)))
	}
	choose("b")
	b.until(`document.getElementById("in-sum").textContent.startsWith("Node b only.") && document.querySelector("#tiles dd.granted").textContent === "0"`)
	choose("a")
	b.until(`document.getElementById("in-sum").textContent.startsWith("Node a only.") && ` + granted)
	choose("")
	b.until(`document.getElementById("in-sum").textContent.startsWith("All 3 nodes, added up.")`)
	// The chosen node is removed: its points are not mistaken for the points of all nodes.
	b.run(chromedp.Evaluate[chromedp.Void](`import("./traffic.js").then((m) => {
		document.getElementById("node").value = "c";
		m.showWhose({ cluster: { members: [{ id: "a" }, { id: "b" }] } });
		window.next = m.asked();
	}); undefined`))
	b.until(`window.next`)
	if next := b.value(`window.next`); next != "/api/overview?since=0" {
		t.Errorf("after the chosen node is gone the page asks for %s", next)
	}
	lost := "c"
	nodes[lost].Stop(t)
	b.until(`document.getElementById("in-sum").textContent.match(/^2 of 3 nodes, without c, added up. Shaded in the charts: .*since [0-9:]+ without c.$/)`)
	b.until(`document.querySelector("#rates rect.gap:last-of-type title").textContent.endsWith("without c") && ` + granted)
	b.until(`document.querySelector("#rates path.granted:not(.area)").getAttribute("d").split("M").length > 2`) // the line is broken there
	b.screenshot("charts")
	for _, name := range []string{"light", "dark"} {
		b.scheme(name)
		b.accessible("charts without a node, " + name)
	}
}
