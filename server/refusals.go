package server

// refusal is a way in which the server keeps somebody out or holds somebody back. Each is counted.
type refusal int

const (
	wrongPassword refusal = iota
	commandDenied
	keyDenied
	loginRefused
	overUserRate
	notLocal
	lateLogin
	clientMemory
	commandTimeout
	strangerDropped
	handshakeFailed
	numRefusals
)

// refusals names the counters as INFO stats shows them.
var refusals = [numRefusals]struct{ name, help string }{
	wrongPassword: {"acl_access_denied_auth", "logins with a wrong name or password"},
	commandDenied: {"acl_access_denied_cmd", "commands their users may not use, or that came before a login"},
	keyDenied:     {"acl_access_denied_key", "commands with keys their users may not use"},
	loginRefused:  {"logins_refused", "logins refused unseen, after too many wrong ones from the same address"},
	overUserRate:  {"requests_over_user_rate", "requests beyond their user's cap"},
	notLocal:      {"protected_mode_refusals", "connections from elsewhere in protected mode"},
	lateLogin:     {"login_timeouts", "connections closed because they did not log in in time"},

	clientMemory:    {"client_memory_disconnections", "connections closed because all buffers together were beyond their bound"},
	commandTimeout:  {"command_timeouts", "connections closed in the middle of a command that took too long to arrive"},
	strangerDropped: {"unauthenticated_dropped", "connections closed before they logged in to make room for others"},
	handshakeFailed: {"tls_handshake_failures", "TLS handshakes that failed or took too long"},
}

func (s *Server) refuse(why refusal) { s.stats.refused[why].Add(1) }

func (s *Server) infoRefusals() (fields []field) {
	for i := range refusals {
		fields = append(fields, field{refusals[i].name, s.stats.refused[i].sinceReset()})
	}
	return fields
}
