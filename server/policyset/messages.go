package policyset

// Present is the policies that a server has.
type Present struct {
	Version  string `json:"version"`
	Policies Set    `json:"policies"`
}

// Request has the policies that a server should have.
type Request struct {
	Policies Set    `json:"policies"`
	Prune    bool   `json:"prune"`   // remove the policies and overrides that are not among them
	Apply    bool   `json:"apply"`   // make the changes, and do not only show them
	Version  string `json:"version"` // of the policies that the sender has seen; "" for any
}

// Reply has the changes of a [Request].
type Reply struct {
	Version string  `json:"version"` // of the policies before the changes
	Changes []Shown `json:"changes"`
}

// Shown is a change as it is shown.
type Shown struct {
	Change
	Effect *Effect `json:"effect,omitempty"` // of new limits of a policy that are not set yet; only of the first ones
}

// Effect is what new limits of a policy would change.
type Effect struct {
	Callers    int     `json:"callers"`          // who have a key of one of the limits
	DeniedNow  int     `json:"deniedNow"`        // callers whose next request would be denied by the present limits
	DeniedThen int     `json:"deniedThen"`       // by the new limits
	WrongType  int     `json:"wrongType"`        // callers whose key has another algorithm: they would get errors until it expires
	Replay     *Replay `json:"replay,omitempty"` // nil if no request is recorded
}

// Replay says how many of the requests of the last minutes were denied, and how many would have been.
type Replay struct {
	WithinMs int64 `json:"withinMs"`
	OneIn    int64 `json:"oneIn"` // one in this many callers was recorded
	Requests int64 `json:"requests"`
	Denied   int64 `json:"denied"`
	Then     int64 `json:"then"` // with the new limits
}
