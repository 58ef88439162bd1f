package engine

import "strconv"

// Algorithm names one way of limiting. The zero value is none.
type Algorithm uint8

// The algorithms.
const (
	NoAlgorithm Algorithm = iota
	GCRA                  // CL.THROTTLE
	TokenBucket           // TB.ACQUIRE
)

// Param is one parameter of a limit as [Limit.Params] reports it.
type Param struct {
	Name string
	Text string
}

// algorithm is a row of the table: everything the store and its callers need to know of one way of limiting.
type algorithm struct {
	name    string // as TYPE answers
	bytes   int    // size of its state
	decide  func(c *call) (changed bool)
	look    func(c *call)
	refund  func(c *call)
	expired func(state []byte, now int64) bool // the state holds no information any more
	params  func(l Limit) []Param
}

var algorithms = [...]algorithm{
	NoAlgorithm: {name: "none"},
	GCRA: {
		name: "gcra", bytes: meterBytes,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, params: gcraParams,
	},
	TokenBucket: {
		name: "token-bucket", bytes: meterBytes,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, params: bucketParams,
	},
}

// String is the algorithm's name as TYPE answers it, such as token-bucket.
func (a Algorithm) String() string { return algorithms[a].name }

// Params lists the limit's parameters by the names its command gives them.
func (l Limit) Params() []Param { return algorithms[l.Algorithm].params(l) }

func gcraParams(l Limit) []Param {
	return []Param{
		{"max_burst", strconv.FormatInt(l.Capacity-1, 10)},
		{"count", strconv.FormatInt(l.Rate.Tokens, 10)},
		{"period", FormatDuration(l.Rate.Period)},
	}
}

func bucketParams(l Limit) []Param {
	return []Param{
		{"capacity", strconv.FormatInt(l.Capacity, 10)},
		{"rate", l.Rate.String()},
	}
}
