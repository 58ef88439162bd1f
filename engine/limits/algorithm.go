package limits

import (
	"strconv"
	"time"
)

// Algorithm names one way of limiting. The zero value is none.
type Algorithm uint8

// The algorithms. Their numbers are kept on disk and sent between nodes: new ones are added at the end.
const (
	NoAlgorithm   Algorithm = iota
	GCRA                    // CL.THROTTLE
	TokenBucket             // TB.ACQUIRE
	LeakyBucket             // LB.ACQUIRE
	LeakyQueue              // LB.QUEUE
	FixedWindow             // FW.ACQUIRE
	SlidingWindow           // SW.ACQUIRE
	SlidingLog              // SL.ACQUIRE
	Concurrency             // CC.ACQUIRE

	// The numbers under which keys are kept that hold data, and no limiter: see Kind in package engine.
	StringValue
	HashValue
	SortedSetValue
	ListValue
	SetValue

	Reservation // a request that was granted with an id

	// Limiters with tokens set aside for holders: see Loan in package engine.
	LentGCRA
	LentTokenBucket
	LentLeakyBucket
	LentFixedWindow

	// Keys whose limit has its home elsewhere: see package purse.
	PurseGCRA
	PurseTokenBucket
	PurseLeakyBucket
	PurseFixedWindow

	FairShare // FS.ACQUIRE
	Class     // HT.ACQUIRE
	Adaptive  // AD.ACQUIRE

	GCRAValue // as StringValue: the state of Redis's command GCRA

	HistoryFixedWindow // a fixed window whose limit has a [Limit.History]

	StreamValue // as StringValue

	SlidingSegments // SW.ACQUIRE with SEGMENTS
	Balance         // BAL.ACQUIRE
	Penalty         // PENALTY in RL.ALL and policies
)

// Param is one parameter of a limit as [Limit.Params] reports it.
type Param struct {
	Name string
	Text string
}

// properties of an algorithm, on which limits and operations depend.
type properties struct {
	name    string // as TYPE answers
	format  uint32 // the version of the cluster's formats that added it; 0 for the first
	decides bool   // an Acquire may ask it
	keeps   bool   // Op.Keep applies to it
	who     bool   // it decides for the holder or member that Op.Who names
	weighs  bool   // Op.Weight applies to it
	warns   bool   // Limit.Warn applies to it
	spreads bool   // Spread in package engine applies to it
	least   bool   // its limit has a least rate too
	rate    bool   // its limit has a rate, tokens to a period; others have a period alone
	value   bool   // no algorithm, but a kind of data (Value in package engine)

	lent Algorithm // the row of its limiters with loans; NoAlgorithm if it has none
	base Algorithm // of limiters with loans, or with closed windows: the algorithm
	home Algorithm // of a purse: the algorithm of the limit at home

	params func(l *Limit) []Param // its parameters as its command names them
}

var propertiesOf = [...]properties{
	NoAlgorithm:      {name: "none"},
	GCRA:             {name: "gcra", decides: true, rate: true, keeps: true, warns: true, spreads: true, lent: LentGCRA, params: gcraParams},
	TokenBucket:      {name: "token-bucket", decides: true, rate: true, keeps: true, warns: true, spreads: true, lent: LentTokenBucket, params: bucketParams},
	LeakyBucket:      {name: "leaky-bucket", decides: true, rate: true, keeps: true, warns: true, spreads: true, lent: LentLeakyBucket, params: bucketParams},
	LeakyQueue:       {name: "leaky-queue", decides: true, rate: true, warns: true, spreads: true, params: queueParams},
	FixedWindow:      {name: "fixed-window", decides: true, keeps: true, warns: true, spreads: true, lent: LentFixedWindow, params: fixedWindowParams},
	SlidingWindow:    {name: "sliding-window", decides: true, keeps: true, warns: true, params: windowParams},
	SlidingLog:       {name: "sliding-log", decides: true, keeps: true, warns: true, params: windowParams},
	Concurrency:      {name: "concurrency", decides: true, who: true, warns: true, params: leaseParams},
	StringValue:      {name: "string", value: true, params: noParams},
	HashValue:        {name: "hash", value: true, params: noParams},
	SortedSetValue:   {name: "zset", value: true, params: noParams},
	ListValue:        {name: "list", value: true, params: noParams},
	SetValue:         {name: "set", value: true, params: noParams},
	Reservation:      {name: "reservation", format: 2, params: reservationParams},
	LentGCRA:         {name: "gcra", format: 2, rate: true, base: GCRA, params: gcraParams},
	LentTokenBucket:  {name: "token-bucket", format: 2, rate: true, base: TokenBucket, params: bucketParams},
	LentLeakyBucket:  {name: "leaky-bucket", format: 2, rate: true, base: LeakyBucket, params: bucketParams},
	LentFixedWindow:  {name: "fixed-window", format: 2, base: FixedWindow, params: fixedWindowParams},
	PurseGCRA:        {name: "gcra", format: 2, decides: true, rate: true, home: GCRA, params: gcraParams},
	PurseTokenBucket: {name: "token-bucket", format: 2, decides: true, rate: true, home: TokenBucket, params: bucketParams},
	PurseLeakyBucket: {name: "leaky-bucket", format: 2, decides: true, rate: true, home: LeakyBucket, params: bucketParams},
	PurseFixedWindow: {name: "fixed-window", format: 2, decides: true, home: FixedWindow, params: fixedWindowParams},
	FairShare:        {name: "fair-share", format: 2, decides: true, rate: true, who: true, weighs: true, params: bucketParams},
	Class:            {name: "htb-class", format: 2, decides: true, rate: true, params: bucketParams},
	Adaptive:         {name: "rate-adaptive", format: 2, decides: true, rate: true, least: true, params: adaptiveParams},
	GCRAValue:        {name: "gcra", format: 2, value: true, params: noParams},

	HistoryFixedWindow: {name: "fixed-window", format: 2, base: FixedWindow, params: fixedWindowParams},

	StreamValue: {name: "stream", format: 3, value: true, params: noParams},

	SlidingSegments: {name: "sliding-segments", format: 3, decides: true, keeps: true, warns: true, params: segmentsParams},
	Balance:         {name: "balance", format: 3, decides: true, params: noParams},
	Penalty:         {name: "penalty", format: 3, decides: true, params: penaltyParams},
}

// AlgorithmCount is the number of algorithms and kinds of keys, [NoAlgorithm] among them.
const AlgorithmCount = len(propertiesOf)

// String is the algorithm's name as TYPE answers it, such as token-bucket.
func (a Algorithm) String() string { return propertiesOf[a].name }

// Algorithms lists all algorithms of limiters.
func Algorithms() (all []Algorithm) {
	for a := NoAlgorithm + 1; a.Known(); a++ {
		if row := &propertiesOf[a]; row.decides && row.home == NoAlgorithm {
			all = append(all, a)
		}
	}
	return all
}

// Known reports whether this version has an algorithm of the number, or the number is [NoAlgorithm].
func (a Algorithm) Known() bool { return int(a) < len(propertiesOf) }

// Keeps reports whether Op.Keep in package engine applies to the algorithm.
func (a Algorithm) Keeps() bool { return propertiesOf[a].keeps }

// NeedsWho reports whether the algorithm decides for a holder or a member, which Op.Who names.
func (a Algorithm) NeedsWho() bool { return a.Known() && propertiesOf[a].who }

// HasLeast reports whether the algorithm's limits have a [Limit.Least].
func (a Algorithm) HasLeast() bool { return a.Known() && propertiesOf[a].least }

// Weighs reports whether Op.Weight in package engine applies to the algorithm.
func (a Algorithm) Weighs() bool { return a.Known() && propertiesOf[a].weighs }

// Warns reports whether [Limit.Warn] applies to the algorithm.
func (a Algorithm) Warns() bool { return a.Known() && propertiesOf[a].warns }

// Spreads reports whether Spread in package engine applies to the algorithm: whether all tokens come back at one rate,
// or at the end of a window.
func (a Algorithm) Spreads() bool { return a.Known() && propertiesOf[a].spreads }

// Format is the version of the cluster's formats that added the algorithm, 0 for the first.
func (a Algorithm) Format() uint32 { return propertiesOf[a].format }

// Params lists the limit's parameters by the names its command gives them.
func (l Limit) Params() []Param {
	params := propertiesOf[l.Algorithm].params(&l)
	if l.Warn != 0 {
		params = append(params, Param{"warn", strconv.Itoa(int(l.Warn)) + "%"})
	}
	return params
}

func noParams(*Limit) []Param { return nil }

func gcraParams(l *Limit) []Param {
	return []Param{
		{"max_burst", strconv.FormatInt(l.Capacity-1, 10)},
		{"count", strconv.FormatInt(l.Rate.Tokens, 10)},
		{"period", strconv.FormatInt(l.Rate.Period/int64(time.Second), 10)},
	}
}

func bucketParams(l *Limit) []Param {
	return []Param{{"capacity", strconv.FormatInt(l.Capacity, 10)}, {"rate", l.Rate.String()}}
}

func queueParams(l *Limit) []Param {
	return []Param{{"capacity", strconv.FormatInt(l.Capacity-1, 10)}, {"rate", l.Rate.String()}}
}

func windowParams(l *Limit) []Param {
	return []Param{{"limit", strconv.FormatInt(l.Capacity, 10)}, {"window", FormatWindow(l.Span, l.Rate.Period)}}
}

func segmentsParams(l *Limit) []Param {
	return append(windowParams(l), Param{"segments", strconv.Itoa(int(l.Segments))})
}

func penaltyParams(l *Limit) []Param {
	params := []Param{{"denials", strconv.FormatInt(l.Capacity, 10)}, {"window", FormatDuration(l.Rate.Period)}, {"ban", FormatDuration(l.Ban)}}
	if l.LongestBan != l.Ban {
		params = append(params, Param{"doubling", FormatDuration(l.LongestBan)})
	}
	return params
}

func fixedWindowParams(l *Limit) []Param {
	params := windowParams(l)
	if l.Anchor.Zone != 0 {
		params = append(params, Param{"tz", l.Anchor.Zone.String()})
	}
	if unit, _ := l.Span.Unit(); l.Anchor.From != 0 {
		params = append(params, Param{"from", l.Anchor.From.Text(unit)})
	}
	if l.History != 0 {
		params = append(params, Param{"history", strconv.Itoa(int(l.History))})
	}
	if l.Rollover != 0 {
		params = append(params, Param{"rollover", strconv.Itoa(int(l.Rollover)) + "%"})
	}
	return params
}

func leaseParams(l *Limit) []Param {
	return []Param{{"limit", strconv.FormatInt(l.Capacity, 10)}, {"ttl", FormatDuration(l.Rate.Period)}}
}

// CanBeLent reports whether tokens of the algorithm's limiters can be set aside for holders. They cannot where a token
// must count from the moment that it is spent, or where a holder has a place or a name.
func (a Algorithm) CanBeLent() bool { return propertiesOf[a].lent != NoAlgorithm }

// Base is the algorithm itself; for a limiter with loans or closed windows, the algorithm of the limiter; for a purse,
// the algorithm at home.
func (a Algorithm) Base() Algorithm {
	row := &propertiesOf[a]
	switch {
	case row.base != NoAlgorithm:
		return row.base
	case row.home != NoAlgorithm:
		return row.home
	}
	return a
}

// HasRate reports whether the algorithm's limits have tokens to a period; others have a period alone.
func (a Algorithm) HasRate() bool { return propertiesOf[a].rate }

// Decides reports whether an Acquire may ask the algorithm.
func (a Algorithm) Decides() bool { return propertiesOf[a].decides }

// Lent is the row of the algorithm's limiters with loans, [NoAlgorithm] if it has none.
func (a Algorithm) Lent() Algorithm { return propertiesOf[a].lent }

// IsLent reports whether a is the row of limiters with loans.
func (a Algorithm) IsLent() bool { return a != NoAlgorithm && propertiesOf[a.Base()].lent == a }

// IsValue reports whether keys of this kind hold data, and no limiter.
func (a Algorithm) IsValue() bool { return propertiesOf[a].value }

// Purse is the row of keys whose limit of this algorithm has its home elsewhere, [NoAlgorithm] if there is none.
func (a Algorithm) Purse() Algorithm {
	for i := range propertiesOf {
		if a != NoAlgorithm && propertiesOf[i].home == a {
			return Algorithm(i)
		}
	}
	return NoAlgorithm
}

// InPurse is the limit as a purse has it, and false if it cannot have its home elsewhere. Home warns of its use.
func (l Limit) InPurse() (of Limit, ok bool) {
	l.Algorithm, l.Warn = l.Algorithm.Purse(), 0
	return l, l.Algorithm != NoAlgorithm && l.History == 0
}

// Home is the algorithm at home of a purse's row, [NoAlgorithm] of any other.
func (a Algorithm) Home() Algorithm { return propertiesOf[a].home }

// IsPurse reports whether the row is a purse's: its keys have tokens that the limit's home has lent.
func (a Algorithm) IsPurse() bool { return a.Home() != NoAlgorithm }

func reservationParams(l *Limit) []Param {
	return []Param{{"for", FormatDuration(l.Rate.Period)}}
}

func adaptiveParams(l *Limit) []Param {
	return []Param{{"capacity", strconv.FormatInt(l.Capacity, 10)}, {"min", Rate{Tokens: l.Least, Period: l.Rate.Period}.String()}, {"max", l.Rate.String()}}
}
