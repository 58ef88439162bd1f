package script

import (
	"strconv"
	"strings"
)

// memory is a Caller that knows a few commands.
type memory struct{ values map[string]string }

func newMemory() *memory { return &memory{map[string]string{}} }

func (m *memory) Call(reply []byte, args [][]byte) []byte {
	name := strings.ToUpper(string(args[0]))
	needs := map[string]int{"SET": 3, "GET": 2, "INCRBY": 3, "ECHO": 2, "PING": 1, "MGET": 2, "LPUSH": 3, "HGETALL": 2, "TIME": 1}
	switch n, known := needs[name]; {
	case !known:
		return appendError(reply, "ERR Unknown Redis command called from script")
	case len(args) < n || name == "GET" && len(args) > n:
		return appendError(reply, "ERR Wrong number of args calling Redis command from script")
	}
	switch name {
	case "SET":
		m.values[string(args[1])] = string(args[2])
		return append(reply, "+OK\r\n"...)
	case "PING":
		return append(reply, "+PONG\r\n"...)
	case "GET":
		if value, is := m.values[string(args[1])]; is {
			return appendBulk(reply, value)
		}
		return append(reply, "$-1\r\n"...)
	case "INCRBY":
		n, err := strconv.ParseInt(m.values[string(args[1])], 10, 64)
		if err != nil && m.values[string(args[1])] != "" {
			return appendError(reply, "ERR value is not an integer or out of range")
		}
		by, err := strconv.ParseInt(string(args[2]), 10, 64)
		if err != nil {
			return appendError(reply, "ERR value is not an integer or out of range")
		}
		m.values[string(args[1])] = strconv.FormatInt(n+by, 10)
		return appendHeader(reply, ':', n+by)
	case "MGET":
		reply = appendHeader(reply, '*', int64(len(args)-1))
		for _, key := range args[1:] {
			reply = m.Call(reply, [][]byte{[]byte("GET"), key})
		}
		return reply
	case "LPUSH":
		return appendError(reply, "WRONGTYPE Operation against a key holding the wrong kind of value")
	case "HGETALL":
		return append(reply, "*0\r\n"...)
	case "TIME":
		return append(reply, "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n"...)
	}
	return appendBulk(reply, args[1])
}
