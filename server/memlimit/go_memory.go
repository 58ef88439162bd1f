package memlimit

import "runtime/metrics"

// goMemory is the memory of Go's runtime, in bytes. Reading it does not stop the program, as runtime.ReadMemStats
// would.
type goMemory struct {
	objects int64 // in the heap, garbage included
	idle    int64 // of the heap, free and not given back to the system
	taken   int64 // heap, stacks and tables, less memory returned to the system
	live    int64 // in the heap and in use, as of the last collection
}

func readGoMemory() goMemory {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	of := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return goMemory{objects: of(0), idle: of(1), taken: of(2) - of(3), live: of(4)}
}

// needed is the memory taken, less the garbage that [collector.setLimit] has Go collect when memory is short.
func (of goMemory) needed() int64 {
	return min(of.taken, of.taken-of.objects+leastRoom(of.live))
}

// leastRoom is the least memory that Go is left for live bytes in use.
func leastRoom(live int64) int64 { return live + live/4 + gcRoom }
