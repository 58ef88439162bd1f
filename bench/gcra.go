package main

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"sync"
)

// gcraScript is the Lua script that the first server of the table runs.
//
//go:embed gcra.lua
var gcraScript string

// gcraScriptSHA is the name by which EVALSHA knows the script.
var gcraScriptSHA = sync.OnceValue(func() string {
	sum := sha1.Sum([]byte(gcraScript))
	return hex.EncodeToString(sum[:])
})

// loadGCRAScript makes the script known to the server at addr.
func loadGCRAScript(addr string) error {
	reply, err := ask(addr, "SCRIPT", "LOAD", gcraScript)
	if err != nil {
		return fmt.Errorf("SCRIPT LOAD: %w", err)
	}
	if reply.text != gcraScriptSHA() {
		return fmt.Errorf("SCRIPT LOAD answered %q, want %q", reply.text, gcraScriptSHA())
	}
	return nil
}
