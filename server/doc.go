// Package server joins the parts that answer clients, and starts, looks after and ends them. Package conn has the
// connections, package netio the listeners and event loops. DESIGN.md beside this file has the flow, the goroutines and
// the lock order.
package server
