package engine

// call is one limit asked at one instant: the input and output of an algorithm. decide only reads the state. It leaves
// the new state in next, or the store gets it by need and write. So an algorithm knows nothing of PEEK or of
// the other limits in the same request.
type call struct {
	now    int64
	op     *Op
	limit  Limit          // the limit in the operation
	prev   Limit          // the limit that the state was last written under; limit itself without a state
	state  []byte         // as stored; zero when the key has expired
	isNew  bool           // there is no state
	next   [maxState]byte // the state to keep, of an algorithm whose state has a fixed size
	result *Result

	leases  leaseScan // of the leases in state, once scanned
	shares  shareScan // of the pool in state, once scanned
	class   classScan // of the node in state, once its algorithm has read it
	scanned bool
	places  []uint16 // of members, while a pool is scanned; kept for reuse
	listed  int      // bytes of leases, members and grants listed since the batch began

	prior [maxState]byte // the state that stands for Op.PriorAt
	share Op             // the question to the leader's share

	content []byte // of a reservation: its new state, without the size

	lent     int64  // tokens set aside for holders; the limiter cannot grant them
	loans    *loans // the limiter's loans, while hasLoans
	hasLoans bool
	inner    [maxLentState]byte // of a limiter with loans: its state without them
	raw      []byte             // room for the state of a limiter with loans
	ending   []loanEnd          // of its loans, while a wait is found

	loading []byte // the whole state, of an entry that is loaded

	touched uint64 // of memory that was read in advance
}

// maxState is the largest state of fixed size.
const maxState = adaptiveBytes

// noState is the state of an expired key. It is never written.
var noState [maxState]byte

// begin fills c for an operation on a key without a state.
func (c *call) begin(now int64, op *Op, res *Result) {
	c.now, c.op, c.result, c.limit, c.scanned = now, op, res, op.Limit, false
	c.prev, c.state, c.isNew = op.Limit, noState[:], true
	c.lent, c.hasLoans = 0, false
}

// open fills c from the whole state of a limiter, unless it has expired.
func (c *call) open(limit *Limit, state []byte) {
	alg := &algorithms[limit.Algorithm]
	switch {
	case alg.base != NoAlgorithm:
		c.openLent(limit, state)
	case !alg.expired(state, limit, c.now):
		c.prev, c.state, c.isNew = *limit, state, false
	}
}
