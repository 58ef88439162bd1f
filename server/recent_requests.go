package server

import "github.com/stintdb/stint/server/recent"

// RecentRequests are the requests on a policy that came to this node in the last minutes, or some of them.
func (s *Server) RecentRequests(policy string) recent.Requests {
	return s.env.Recent.Requests(policy, s.env.Clock.Now())
}

// RecentPolicies lists the policies of which requests are recorded, in no order.
func (s *Server) RecentPolicies() []string { return s.env.Recent.Policies() }
