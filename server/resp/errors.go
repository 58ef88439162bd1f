package resp

// ProtocolErrors is the section of the errors of a [Reader], and of the input that its caller buffers.
var ProtocolErrors = ErrorSection{Heading: "The protocol", Before: "After these errors the rest of the input cannot be parsed, so the connection is closed. The replies to earlier commands\n" +
	"are sent first. A client library never causes one, unless a value is too long; look for another program\n" +
	"that talks to the port, such as a browser or a health check.\n"}

// ErrTLS refuses a TLS handshake. Parts of it that an attacker can choose, such as the server's name, would otherwise
// be read as inline commands. ErrQueryTooBig is for the caller of a Reader.
var (
	errMultibulkLength = ProtocolErrors.Add("ERR Protocol error: invalid multibulk length",
		"The number of arguments is not a number, or more than `--max-args`.")
	errBulkLength = ProtocolErrors.Add("ERR Protocol error: invalid bulk length",
		"The length of an argument is not a number, or more than `--max-bulk-size`.")
	errCountTooLong = ProtocolErrors.Add("ERR Protocol error: too big mbulk count string",
		"The line with the number of arguments does not end.")
	errLengthTooLong = ProtocolErrors.Add("ERR Protocol error: too big bulk count string",
		"The line with the length of an argument does not end.")
	errNotBulk = ProtocolErrors.Add("ERR Protocol error: expected '$', got '%c'",
		"The input has another type where an argument should begin, such as a nested array.")
	errLineEnd = ProtocolErrors.Add("ERR Protocol error: expected CRLF after bulk",
		"An argument is longer than its length said.")
	errInlineTooBig = ProtocolErrors.Add("ERR Protocol error: too big inline request",
		"A line of text that is longer than `--max-bulk-size`.")
	ErrTLS = ProtocolErrors.Add("ERR Protocol error: this is TLS, and the port takes connections without: connect to one of --tls-listen, or without TLS",
		"The connection began with a TLS handshake.")
	errQuotes = ProtocolErrors.Add("ERR Protocol error: unbalanced quotes in request",
		"A line of text with a quote that does not end, or has no space after it.")
	ErrQueryTooBig = ProtocolErrors.Add("ERR Protocol error: more unanswered input than --query-buffer-size allows",
		"An unfinished command, or commands sent while a `BLOCK` waits, are more than `--query-buffer-size`.")
)
