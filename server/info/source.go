package info

import (
	"regexp"
	"strconv"

	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/memlimit"
	"github.com/stintdb/stint/server/netio"
	"github.com/stintdb/stint/server/upstream"
)

// Source is where INFO gets its values.
type Source struct {
	Env         *conn.Env
	Memory      *memlimit.Limiter
	Lag         *netio.LoopLag
	Keys        localstore.Store
	Persistence Persistence  // nil if nothing is kept on disk
	Upstream    Upstream     // nil without a home cluster
	LastSave    func() int64 // Unix seconds
	Ready       func() error // why the server cannot answer requests, nil if it can

	Version, Commit, RunID string
}

// Upstream is the client of the home cluster.
type Upstream interface{ Status() upstream.Status }

// Persistence is the state of snapshots and the journal.
type Persistence interface {
	Status() persistencestatus.Status
}

// field is one line of INFO.
type field struct {
	name  string
	value any
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// oneWord quotes a name that is not a plain word.
func oneWord(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

func zeroOrOne(b bool) int {
	if b {
		return 1
	}
	return 0
}
