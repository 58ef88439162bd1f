package script

import (
	"strconv"
	"strings"
)

// memory is a Caller that knows a few commands.
type memory struct{ values map[string]string }

func newMemory() *memory { return &memory{map[string]string{}} }

func (*memory) Find(string) any { return nil }

func (m *memory) Call(reply []byte, args [][]byte, _ any) ([]byte, int) {
	name := strings.ToUpper(string(args[0]))
	needs := map[string]int{"SET": 3, "GET": 2, "INCRBY": 3, "ECHO": 2, "PING": 1, "MGET": 2, "LLEN": 2, "LPUSH": 3, "HGETALL": 2, "TIME": 1}
	switch n, known := needs[name]; {
	case !known:
		return appendError(reply, "ERR Unknown Redis command called from script"), 0
	case len(args) < n || name == "GET" && len(args) > n:
		return appendError(reply, "ERR Wrong number of args calling Redis command from script"), 0
	case name == "SET" && len(args) > n:
		return appendError(reply, "ERR syntax error"), 0
	}
	switch name {
	case "SET":
		m.values[string(args[1])] = string(args[2])
		return append(reply, "+OK\r\n"...), 0
	case "PING":
		return append(reply, "+PONG\r\n"...), 0
	case "GET":
		if value, is := m.values[string(args[1])]; is {
			return appendBulk(reply, value), 0
		}
		return append(reply, "$-1\r\n"...), 0
	case "INCRBY":
		n, err := strconv.ParseInt(m.values[string(args[1])], 10, 64)
		if err != nil && m.values[string(args[1])] != "" {
			return appendError(reply, "ERR value is not an integer or out of range"), 0
		}
		by, err := strconv.ParseInt(string(args[2]), 10, 64)
		if err != nil {
			return appendError(reply, "ERR value is not an integer or out of range"), 0
		}
		m.values[string(args[1])] = strconv.FormatInt(n+by, 10)
		return appendHeader(reply, ':', n+by), 0
	case "MGET":
		reply = appendHeader(reply, '*', int64(len(args)-1))
		for _, key := range args[1:] {
			reply, _ = m.Call(reply, [][]byte{[]byte("GET"), key}, nil)
		}
		return reply, 0
	case "LPUSH":
		return appendError(reply, "WRONGTYPE Operation against a key holding the wrong kind of value"), 0
	case "LLEN":
		if _, exists := m.values[string(args[1])]; exists {
			return appendError(reply, "WRONGTYPE Operation against a key holding the wrong kind of value"), 0
		}
		return append(reply, ":0\r\n"...), 0
	case "HGETALL":
		return append(reply, "*0\r\n"...), 0
	case "TIME":
		return append(reply, "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n"...), 0
	}
	return appendBulk(reply, args[1]), 0
}

func (*memory) Expired() bool { return false }

func (*memory) Dialect() int64 { return 2 }

func (*memory) UseRESP3(on bool) bool { return !on }
