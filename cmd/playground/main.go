//go:build js && wasm

// Command playground is the engine in a page of the handbook's site: a reader tries limits on traffic that the page
// makes up. It runs in the browser, and asks no server.
package main

import (
	"syscall/js"
	"time"

	"github.com/stintdb/stint/cmd/playground/traffic"
)

// The page calls playStint with a command, the kind of traffic, the requests per second, the number of seconds, and the
// milliseconds that the work of a request takes.
func main() {
	js.Global().Set("playStint", js.FuncOf(func(_ js.Value, args []js.Value) any {
		outcome, err := traffic.Play(args[0].String(), traffic.Load{
			Kind:      args[1].String(),
			PerSecond: args[2].Int(),
			Seconds:   args[3].Int(),
			Work:      time.Duration(args[4].Int()) * time.Millisecond,
		})
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return object(outcome)
	}))
	select {} // the function is called for as long as the page is open
}

// object is an outcome as a value of JavaScript.
func object(o traffic.Outcome) map[string]any {
	bins := make([]any, len(o.Bins))
	for i, b := range o.Bins {
		bins[i] = map[string]any{"granted": b.Granted, "waiting": b.Waiting, "denied": b.Denied, "through": b.Through}
	}
	callers := make([]any, len(o.Callers))
	for i, c := range o.Callers {
		callers[i] = map[string]any{"name": c.Name, "granted": c.Granted, "asked": c.Asked}
	}
	return map[string]any{
		"bins": bins, "callers": callers, "longestWait": o.LongestWait.Seconds(),
		"granted": o.Granted, "waiting": o.Waiting, "denied": o.Denied,
	}
}
