package cluster

// ErrNoLeader is wrapped by the errors of what only a leader can do, while none is known.
var ErrNoLeader = errNoLeader
