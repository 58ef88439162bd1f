package settings

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/stintdb/stint/server/config"
)

// SidecarHelp is the text of stint sidecar --help.
const SidecarHelp = `Usage: stint sidecar --home ADDRESSES [flags]

Starts a small server beside an application. It decides requests from tokens
that another server or cluster lends, so most requests need no network. The
application connects to it as to any Stint.

  --home ADDRESSES              Server that has the limits: HOST:PORT of a
                                single server, or of some nodes of a cluster,
                                separated by commas.

All flags of stint server can be given, too. Some have other defaults: there is
no dashboard (--admin), one database, at most 64 MB of memory (--max-memory),
and all keys have their limits at home (--upstream-keys '*'). After a denial,
further requests are denied without home for up to a second
(--upstream-deny-for). If the process is killed, its tokens count as spent
after a minute (--upstream-loan-time).

Example: serve an application over a unix socket

  stint sidecar --home limits.internal:6379 --listen unix:/run/stint.sock
`

// sidecarDefaults are the defaults that differ in a sidecar.
var sidecarDefaults = map[string]string{
	"admin": "", "databases": "1", "loops": "1", "max-memory": "64mb", "max-clients": "1000",
	"upstream-keys": "*", "upstream-deny-for": "1s", "upstream-loan-time": "1m",
}

// ErrNoHome is the error of ReadSidecar if no setting names a home.
var ErrNoHome = errors.New("a sidecar needs the server that has the limits: name it with --home HOST:PORT")

// ReadSidecar is [Read] for a sidecar.
func ReadSidecar(args, environ []string, readFile func(name string) ([]byte, error)) (config.Config, error) {
	var given []assignment
	for name, text := range sidecarDefaults {
		s, _ := config.Lookup(name)
		given = append(given, assignment{s, text, name})
	}
	flags := homeAsUpstream(args)
	cfg, err := loadOver(given, flags, environ, readFile)
	switch {
	case errors.Is(err, config.ErrConflict) && !cfg.HasUpstream():
		err = ErrNoHome
	case err != nil && !slices.Equal(flags, args):
		err = homeError{err}
	}
	return cfg, err
}

// homeError is an error of a sidecar with --home, which it names in place of --upstream.
type homeError struct{ error }

var upstreamFlag = regexp.MustCompile(`--upstream([^-\w]|$)`)

func (e homeError) Error() string { return upstreamFlag.ReplaceAllString(e.error.Error(), "--home$1") }

func (e homeError) Unwrap() error { return e.error }

// homeAsUpstream returns the flags of a server for those of a sidecar.
func homeAsUpstream(args []string) (flags []string) {
	for _, arg := range args {
		if rest, isHome := strings.CutPrefix(arg, "--home"); isHome && (rest == "" || rest[0] == '=') {
			arg = "--upstream" + rest
		}
		flags = append(flags, arg)
	}
	return flags
}
