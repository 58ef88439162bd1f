package stats

// Rejection is a way in which the server keeps somebody out or holds somebody back. Each kind is counted.
type Rejection int

// The rejections.
const (
	WrongPassword          Rejection = iota // a login with a wrong name or password
	CommandDenied                           // a command its user may not use, or that came before a login
	KeyDenied                               // a command with keys its user may not use
	LoginRejected                           // a login refused unseen, after too many wrong ones from the same address
	OverUserRate                            // a request beyond its user's cap
	NotLocal                                // a connection from elsewhere in protected mode
	LoginTimedOut                           // a connection closed because it did not log in in time
	ClientMemory                            // a connection closed because all buffers together were beyond their bound
	CommandTimeout                          // a connection closed in the middle of a command that took too long to arrive
	UnauthenticatedDropped                  // a connection closed before it logged in to make room for another
	HandshakeFailed                         // a TLS handshake that failed or took too long
	numRejections
)

// names are those in INFO stats.
var names = [numRejections]string{
	WrongPassword:          "acl_access_denied_auth",
	CommandDenied:          "acl_access_denied_cmd",
	KeyDenied:              "acl_access_denied_key",
	LoginRejected:          "logins_refused",
	OverUserRate:           "requests_over_user_rate",
	NotLocal:               "protected_mode_refusals",
	LoginTimedOut:          "login_timeouts",
	ClientMemory:           "client_memory_disconnections",
	CommandTimeout:         "command_timeouts",
	UnauthenticatedDropped: "unauthenticated_dropped",
	HandshakeFailed:        "tls_handshake_failures",
}

// Reject counts a rejection.
func (s *Stats) Reject(why Rejection) { s.rejections[why].Add(1) }

// RejectionCount is the number of rejections of one kind since the start.
func (s *Stats) RejectionCount(why Rejection) int64 { return s.rejections[why].Load() }

// Rejections calls visit for each kind, with its name in INFO, its count since the start and since the last CONFIG
// RESETSTAT.
func (s *Stats) Rejections(visit func(name string, count, sinceReset int64)) {
	for i := range s.rejections {
		visit(names[i], s.rejections[i].Load(), s.rejections[i].SinceReset())
	}
}
