// Package transcripttest plays recorded conversations between clients and a server, and checks every reply. Different
// players play the same file: on the state machine alone, over a socket, or on a cluster.
//
// A transcript is text:
//
//	# A limit of five, refilled one per 12 s.
//	> CL.THROTTLE k 4 5 60
//	[0 5 4 -1 12]
//
//	advance 12s
//
//	a> TB.ACQUIRE k2 1 1/s BLOCK 5s
//	(held)
//	b> PING
//	+PONG
//	a< [1 1 0 0 1000]
//	hangup a
//
// A line "name> command" sends a command on the connection with that name, which it opens if necessary, and the lines
// below are the reply. Words are separated by spaces; a word with other bytes is written as a Go string, "a\x00b".
// Instead of a reply there may be
//
//	(held)    the server holds the reply back, or has not reached the command because it holds an earlier reply back
//	(none)    the command gets no reply
//	(closed)  the server has closed the connection
//
// "name< reply" is a reply that comes later, "advance 12s" advances the server's clock, "hangup name" closes a
// connection from the client's side, and # starts a comment.
//
// Replies are written so that their types show:
//
//	12           integer              nil          null bulk string, RESP2
//	"text"       bulk string          nil[]        null array, RESP2
//	+OK          simple string        null         null, RESP3
//	-ERR text    error                {k: v, …}    map
//	[a b]        array                ~[a b]       set
//	txt"text"    verbatim string      ,1.5         double
//	push[a b]    push message
//
// In a reply, … stands for any text that cannot be known.
package transcripttest
