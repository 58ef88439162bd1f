package command

import "github.com/stintdb/stint/server/resp"

// clusterRows answer as a Redis without cluster mode does, in the words by which clients decide to talk to one node.
var clusterRows = []Row{{
	Name: "cluster", Syntax: "subcommand [argument ...]", Since: "0.1.0", Group: "cluster",
	Summary: "Answers that cluster support is disabled.", Flags: Admin,
	Run: func(_ Session, w *resp.Writer, _ [][]byte) { w.Error(ErrClusterOff.Error()) },
}}
