package engine

// call is one limit asked at one instant: what an algorithm reads and fills in. decide only reads the state and leaves
// what is to be kept in next, or for the store to ask with need and write; so an algorithm knows nothing of PEEK or of
// the other limits in the same request.
type call struct {
	now    int64
	op     *Op
	limit  Limit          // what the operation asks to be held to
	held   Limit          // what the state was last written under; limit itself when there is no state
	state  []byte         // as kept; zero when the key is as good as new
	fresh  bool           // there is no state
	next   [maxState]byte // the state to keep, of an algorithm whose state has a fixed size
	result *Result

	loading []byte // the whole state, of an entry that is loaded
}

// maxState is the largest state of fixed size.
const maxState = windowPairBytes

// noState is the state of a key as good as new. It is never written.
var noState [maxState]byte
