//go:build !linux

package server

// machineBytes is the memory this process may take, which is not looked for here.
func machineBytes() int64 { return 4 << 30 }
