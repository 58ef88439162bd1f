package flakiness

import (
	"go/ast"
	"go/token"
	"slices"
)

// clicksByCoordinates are chromedp's actions that read where an element is, and then click there.
var clicksByCoordinates = []string{"Click", "DoubleClick", "MouseClickNode", "MouseClickXY", "Tap", "TapXY"}

// clicksElsewhere finds clicks that miss their element when the page shifts.
func clicksElsewhere(_ *goPackage, f *function, report func(at token.Pos, what string)) {
	ast.Inspect(f.node, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is && slices.ContainsFunc(clicksByCoordinates, func(name string) bool { return isSelector(call.Fun, "chromedp", name) }) {
			report(call.Pos(), "a click by coordinates")
		}
		return true
	})
}

func clickSnippets() []snippet {
	return append(inTest("click", true, `b.run(chromedp.Click(chromedp.CSS("#apply")))`), inTest("click", false, `b.run(b.click("#apply"))`, `b.run(chromedp.SendKeys(chromedp.CSS("#key"), "a"))`)...)
}
