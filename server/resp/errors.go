package resp

// ProtocolErrors is the section of the errors of a [Reader], and of the input that its caller buffers.
var ProtocolErrors = ErrorSection{Heading: "The protocol", Before: "After these errors, the rest of the input cannot be parsed, so the server sends the replies to earlier commands and closes\n" +
	"the connection. A client library causes such an error only if it sends a value that is too long. Otherwise, the input comes from\n" +
	"another program that talks to the port, such as a browser or a health check.\n"}

// ErrTLS refuses a TLS handshake. Parts of it that an attacker can choose, such as the server's name, would otherwise
// be read as inline commands. The caller of a Reader returns ErrQueryTooBig itself.
var (
	errMultibulkLength = ProtocolErrors.Add("ERR Protocol error: invalid multibulk length", "")
	errBulkLength      = ProtocolErrors.Add("ERR Protocol error: invalid bulk length", "")
	errCountTooLong    = ProtocolErrors.Add("ERR Protocol error: too big mbulk count string", "")
	errLengthTooLong   = ProtocolErrors.Add("ERR Protocol error: too big bulk count string", "")
	errNotBulk         = ProtocolErrors.Add("ERR Protocol error: expected '$', got '%c'", "")
	errLineEnd         = ProtocolErrors.Add("ERR Protocol error: expected CRLF after bulk", "")
	ErrTLS             = ProtocolErrors.Add("ERR Protocol error: this is TLS, and the port takes connections without: connect to one of --tls-listen, or without TLS",
		"The connection began with a TLS handshake.")
	errQuotes              = ProtocolErrors.Add("ERR Protocol error: unbalanced quotes in request", "")
	ErrQueryTooBig         = ProtocolErrors.Add("ERR Protocol error: commands sent while an earlier one waits: at most %d bytes (--query-buffer-size)", "")
	errArgsUnskipped       = ProtocolErrors.Add("ERR Protocol error: invalid multibulk length: at most %d arguments (--max-args), got %d, which are too many to skip", "")
	errBulkUnskipped       = ProtocolErrors.Add("ERR Protocol error: invalid bulk length: at most %d bytes (--max-bulk-size), got %d, which are too many to skip", "")
	errLineUnskipped       = ProtocolErrors.Add("ERR Protocol error: too big inline request: at most %d bytes (--max-bulk-size), got too many to skip", "")
	errUnfinishedUnskipped = ProtocolErrors.Add("ERR Protocol error: unfinished command: at most %d bytes (--query-buffer-size), got too many to skip", "")
	errArgsBeforeLogin     = ProtocolErrors.Add("ERR Protocol error: unauthenticated multibulk length: at most %d arguments before a login (--preauth-args), got %d", "")
	errBulkBeforeLogin     = ProtocolErrors.Add("ERR Protocol error: unauthenticated bulk length: at most %d bytes before a login (--preauth-size), got %d", "")
	errSizeBeforeLogin     = ProtocolErrors.Add("ERR Protocol error: command: at most %d bytes before a login (--preauth-size)", "")
)

// BoundErrors is the section of the errors of commands that were skipped because they were beyond a bound.
var BoundErrors = ErrorSection{Heading: "Commands beyond a bound", Before: "If a command exceeds a bound, the server reads it to its end without executing it, and goes on with the next command. A\n" +
	"transaction that contained the command replies `EXECABORT`. If the connection has not logged in, or the command has more than\n" +
	"512 MiB (`too many to skip`), the connection is closed.\n"}

var (
	errArgs       = BoundErrors.Add("ERR arguments: at most %d (--max-args), got %d: nothing was executed", "")
	errBulk       = BoundErrors.Add("ERR argument: at most %d bytes (--max-bulk-size), got %d: nothing was executed", "")
	errLine       = BoundErrors.Add("ERR line of text: at most %d bytes (--max-bulk-size): nothing was executed", "")
	errUnfinished = BoundErrors.Add("ERR unfinished command: at most %d bytes (--query-buffer-size): nothing was executed",
		"Send fewer or shorter arguments at a time.")
)

// refusal holds two answers to a command beyond a bound: kept, if the command is skipped and the connection kept, and
// fatal, if the connection closes.
type refusal struct{ kept, fatal error }

func tooManyArgs(count int64, l Limits) refusal {
	if l.BeforeLogin {
		return refusal{fatal: errArgsBeforeLogin.With(l.MaxArgs, count)}
	}
	return refusal{errArgs.With(l.MaxArgs, count), errArgsUnskipped.With(l.MaxArgs, count)}
}

func tooLongBulk(size int64, l Limits) refusal {
	if l.BeforeLogin {
		return refusal{fatal: errBulkBeforeLogin.With(l.MaxBulk, size)}
	}
	return refusal{errBulk.With(l.MaxBulk, size), errBulkUnskipped.With(l.MaxBulk, size)}
}

func tooLongLine(l Limits) refusal {
	if l.BeforeLogin {
		return refusal{fatal: errSizeBeforeLogin.With(l.MaxInline)}
	}
	return refusal{errLine.With(l.MaxInline), errLineUnskipped.With(l.MaxInline)}
}

func tooLongUnfinished(l Limits) refusal {
	if l.BeforeLogin {
		return refusal{fatal: errSizeBeforeLogin.With(l.MaxUnfinished)}
	}
	return refusal{errUnfinished.With(l.MaxUnfinished), errUnfinishedUnskipped.With(l.MaxUnfinished)}
}
