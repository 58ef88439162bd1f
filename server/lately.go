package server

import (
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/recent"
)

// Recent is the record of the requests on policies that came to this node.
func (s *Server) Recent() *recent.Record { return s.env.Recent }

// Events are the last ones at this node.
func (s *Server) Events() *events.Log { return &s.env.Events }
