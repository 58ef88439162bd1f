// Package persistence keeps the engine's state on disk. A snapshot holds every key; a journal holds the latest state of
// each key that changed since the flush before, so its volume depends on distinct keys and not on requests. DESIGN.md
// beside this file has the flow, the reasons for the file formats, and the goroutines.
//
// The same blocks make up both files: see disk/format.go. All file access goes through [disk.FS], so that tests can
// simulate a loss of power.
package persistence
