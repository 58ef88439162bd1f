package server

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/recent"
)

// ClientList implements [command.Server].
func (s *Server) ClientList(match func(command.ClientInfo) bool) (connections int, render func() string) {
	return s.env.Registry.ClientList(match)
}

// ClientLine implements [command.Server].
func (s *Server) ClientLine(id int64) string { return s.env.Registry.ClientLine(id) }

// Kill implements [command.Server].
func (s *Server) Kill(match func(command.ClientInfo) bool) int { return s.env.Registry.Kill(match) }

// Info implements [command.Server].
func (s *Server) Info(sections []string) string { return s.info.Text(sections) }

// ResetStats implements [command.Server].
func (s *Server) ResetStats() {
	s.env.Stats.ResetStats()
	s.env.Lookups.Reset()
}

// Recent records the requests on policies that came to this node.
func (s *Server) Recent() *recent.Record { return s.env.Recent }

// Events are the last events of this node.
func (s *Server) Events() *events.Log { return &s.env.Events }
