package engine

// Batch is operations to be decided together: one pipeline's, or one transaction's.
type Batch struct {
	Ops     []Op
	Results []Result // as long as Ops
	Atomic  bool     // all at one instant with nothing in between: MULTI … EXEC
	Local   bool     // reads may be answered from this node's own state, which may be behind: READONLY

	// Done is called once, from another goroutine, if whoever decides could not finish at once and the results are in.
	Done func()
}
