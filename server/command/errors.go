package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

// Wire errors that more than one place sends, or that clients match; those are Redis's own texts. An error that only one
// command knows stands beside it. docs/errors.md lists all of them, which a test holds true.
var (
	ErrSyntax        = errors.New("ERR syntax error")
	ErrNotInteger    = errors.New("ERR value is not an integer or out of range")
	ErrDBIndex       = errors.New("ERR DB index is out of range")
	ErrNestedMulti   = errors.New("ERR MULTI calls can not be nested")
	ErrExecNoMulti   = errors.New("ERR EXEC without MULTI")
	ErrDiscardNoMult = errors.New("ERR DISCARD without MULTI")
	ErrExecAbort     = errors.New("EXECABORT Transaction discarded because of previous errors.")
	ErrNotInMulti    = errors.New("ERR Command not allowed inside a transaction")
	ErrMultiTooLong  = errors.New("ERR too many commands between MULTI and EXEC")
	ErrExecTooBig    = errors.New("ERR the commands were carried out, but their replies are more than --output-buffer-size")
	ErrNoProto       = errors.New("NOPROTO unsupported protocol version")
	ErrMaxClients    = errors.New("ERR max number of clients reached")
	ErrNoAuth        = errors.New("NOAUTH Authentication required.")
	ErrWrongPass     = errors.New("WRONGPASS invalid username-password pair or user is disabled.")
	ErrNoKeyAccess   = errors.New("NOPERM No permissions to access a key")
	ErrClusterOff    = errors.New("ERR This instance has cluster support disabled")
	ErrInvalidCursor = errors.New("ERR invalid cursor")
	ErrMaxPerAddress = errors.New("ERR max number of clients of one address reached (--max-clients-per-address)")
	ErrProtected     = errors.New("DENIED Stint is running in protected mode because protected mode is enabled and no password is set for the default user. " +
		"In this mode connections are only accepted from the loopback interface. To connect from elsewhere, do one of these: " +
		"1) Set a password: start the server with --requirepass or --acl-file, or send CONFIG SET requirepass from the same machine. " +
		"2) If the network keeps everybody else out, turn protected mode off: --protected-mode no, or CONFIG SET protected-mode no from the same machine.")
	ErrNoSuchClient    = errors.New("ERR No such client")
	ErrOutOfMemory     = errors.New("OOM command not allowed when used memory > 'maxmemory': no room for another key")
	ErrDebtTooBig      = errors.New("ERR tokens: FORCE would put the key further in debt than can be kept, 1000000000000 tokens or 150 years")
	errSameKey         = errors.New("ERR spec: the same key twice; each limit needs a key of its own")
	errNoPolicy        = errors.New("ERR no such policy; RL.POLICY LIST names those there are")
	ErrNoDir           = errors.New("ERR this server keeps nothing on disk: start it with --dir")
	ErrSaveBusy        = errors.New("ERR Background save already in progress")
	ErrNotKept         = errors.New("MISCONF the disk does not take what is decided, and --durability is always: nothing is granted; the log and INFO persistence say why")
	errNotRefundable   = errors.New("ERR key: leases are ended by CC.RELEASE, not refunded")
	ErrUncertain       = errors.New("UNCERTAIN the cluster could not finish deciding this: whether it was carried out is unknown, and it counts as taken; do not simply send it again")
	ErrNoLeader        = errors.New("CLUSTERDOWN no leader of the cluster could be asked within --decide-timeout: nothing was taken")
	ErrOverloaded      = errors.New("BUSY more operations wait to be decided than may: nothing was taken, try again shortly")
	ErrNoCluster       = errors.New("ERR this server is not a node of a cluster: start it with --cluster-listen")
	ErrTooManyMonitors = errors.New("ERR too many connections in MONITOR, at most 10")
	ErrQueryTooBig     = errors.New("ERR Protocol error: more unanswered input than --query-buffer-size allows")
)

func wrongArity(r *Row) error {
	return fmt.Errorf("ERR wrong number of arguments for '%s' command", r.FullName)
}

// IsHTTP reports whether a command's name is what an HTTP request begins a line with. A web page can make a browser send
// such a request here, with commands in its body.
func IsHTTP(name []byte) bool { return isWord(name, "POST") || isWord(name, "Host:") }

func unknownCommand(args [][]byte) error {
	if isLimiterPart(args[0]) {
		return unknownPart(args[0])
	}
	var beginning strings.Builder
	for _, a := range args[1:] {
		if beginning.Len() >= 128 {
			break
		}
		fmt.Fprintf(&beginning, "'%s' ", clip(a, 128-beginning.Len()))
	}
	return fmt.Errorf("ERR unknown command '%s', with args beginning with: %s", clip(args[0], 128), beginning.String())
}

func unknownSubcommand(r *Row, name []byte) error {
	return fmt.Errorf("ERR unknown subcommand '%s'. Try %s HELP.", clip(name, 128), strings.ToUpper(r.Name))
}

func unknownOption(r string, option []byte, known string) error {
	return fmt.Errorf("ERR syntax error: %s does not take '%s' here; it takes %s", r, clip(option, 64), known)
}

func clip(b []byte, n int) []byte { return b[:min(len(b), max(n, 0))] }

// argumentError says which argument was wrong, what it must be and what it was.
func argumentError(name, must string, got []byte) error {
	return fmt.Errorf("ERR %s: %s, got '%s'", name, must, clip(got, 64))
}

// failed writes the error of a result that has one, and reports whether it did.
func failed(w *resp.Writer, res *engine.Result) bool {
	switch res.Status {
	case engine.WrongType:
		w.Error(fmt.Sprintf("WRONGTYPE the key belongs to a %s limiter, this command needs a %s", res.Held.Algorithm, res.Wanted))
	case engine.OutOfRoom:
		w.Error(ErrOutOfMemory.Error())
	case engine.DebtTooBig:
		w.Error(ErrDebtTooBig.Error())
	case engine.SameKeyTwice:
		w.Error(errSameKey.Error())
	case engine.TooLong:
		w.Error(fmt.Sprintf("ERR id: with it in the place of {}, a key of the policy is longer than --max-key-size or a holder is not 1 to %d bytes", engine.MaxHolderBytes))
	case engine.NotKept:
		w.Error(ErrNotKept.Error())
	case engine.NotRefundable:
		w.Error(errNotRefundable.Error())
	default:
		return false
	}
	return true
}
