// Package persistence keeps the engine's state on disk. A snapshot holds every key; a journal holds the latest state of
// each key that changed since the flush before, so its volume goes by distinct keys and not by requests. DESIGN.md
// beside this file has the flow, the file formats' reasons and the goroutines.
//
// The same blocks make up both files: see format.go. All file access goes through [FS], so that tests can lose power.
package persistence
