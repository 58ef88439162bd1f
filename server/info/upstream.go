package info

// upstream has the state of the home cluster's tokens.
func (s *Source) upstream() []field {
	if s.Upstream == nil {
		return []field{{"upstream_enabled", 0}}
	}
	st := s.Upstream.Status()
	return []field{
		{"upstream_enabled", 1}, {"upstream_connected", zeroOrOne(st.Connected)}, {"upstream_last_error", st.Failure}, {"upstream_keys", st.Purses},
		{"upstream_granted_locally", st.Local}, {"upstream_decided_by_home", st.Asked}, {"upstream_denied_again", st.Repeated},
		{"upstream_failed", st.Failed}, {"upstream_uncertain", st.Uncertain},
		{"upstream_granted_alone", st.GrantedAlone}, {"upstream_denied_alone", st.DeniedAlone}, {"upstream_lends", st.Lends}, {"upstream_lent_tokens", st.Lent},
		{"upstream_returned_tokens", st.Returned}, {"upstream_dropped_tokens", st.Dropped},
	}
}
