package key

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var objectRows = []command.Row{{
	Name: "object", Group: "generic", Summary: "Show how data is stored.",
	Sub: []command.Row{{
		Name: "encoding", Syntax: "key", Group: "generic",
		Summary: "The encoding that Redis 7.0 would use for the data, which some programs use to estimate its size. Stint itself has one encoding for each kind.",
		Returns: "a word such as listpack, and raw for a limiter; null if the key does not exist.", Example: "counter",
		Cost: command.ValuePass, Flags: command.ReadOnly,
		KeyFlags: "RO", Keys: objectKey, Data: data.Code(objectEncoding),
	}, {
		Name: "refcount", Syntax: "key", Group: "generic", Summary: "The number of references to the data: always 1.",
		Returns: "1; null if the key does not exist.", Example: "counter",
		Cost: command.ValueCopy, Flags: command.ReadOnly,
		KeyFlags: "RO", Keys: objectKey, Data: data.Code(func(c *data.Call) {
			if _, ok := readObject(c); ok {
				c.Writer.Int(1)
			}
		}),
	}, {
		Name: "freq", Syntax: "key", Group: "generic", Summary: "Always an error, because Stint does not count how often keys are used. RL.TOP lists the keys that are denied most.",
		Returns: "an error; null if the key does not exist.", Example: "counter",
		Cost: command.ValueCopy, Flags: command.ReadOnly,
		KeyFlags: "RO", Keys: objectKey, Data: data.Code(func(c *data.Call) {
			if _, ok := readObject(c); ok {
				c.Fail(errNoFrequency)
			}
		}),
	}, {
		Name: "idletime", Syntax: "key", Group: "generic", Summary: "Always 0, as if the key had just been used, because Stint does not record when keys are used.",
		Returns: "0; null if the key does not exist.", Example: "counter",
		Cost: command.ValueCopy, Flags: command.ReadOnly,
		KeyFlags: "RO", Keys: objectKey, Data: data.Code(func(c *data.Call) {
			if _, ok := readObject(c); ok {
				c.Writer.Int(0)
			}
		}),
	}},
}}

var objectKey = command.Keys{First: 2, Last: 2, Access: command.Reads}

// readObject reads the key of OBJECT, without the data of a value in blocks, and writes null if it does not exist.
func readObject(c *data.Call) (v engine.Value, found bool) {
	if v, found = c.Look(c.Args[2]); !found {
		c.Writer.Null()
	}
	return v, found
}

// Up to these sizes, Redis 7.0 stores a collection in a compact form.
const (
	compactStrings = 128
	compactBytes   = 64 // bytes of each string
	compactNumbers = 512
	embeddedBytes  = 44
)

func objectEncoding(c *data.Call) {
	v, found := readObject(c)
	if !found {
		return
	}
	if v.InBlocks {
		if c.Large(c.Args[2], v.Kind).Len() > compactNumbers {
			c.Writer.BulkString(looseEncodings[v.Kind])
			return
		}
		v, _ = c.Tx.Get(c.Args[2])
	}
	c.Tx.Spend(command.CopyWork(v.Data))
	c.Writer.BulkString(encodingOf(v))
}

// looseEncodings are the encodings of collections of many elements.
var looseEncodings = map[engine.Kind]string{
	engine.HashKind: "hashtable", engine.SetKind: "hashtable", engine.SortedSetKind: "skiplist", engine.ListKind: "quicklist", engine.StreamKind: "stream",
}

func encodingOf(v engine.Value) string {
	switch v.Kind {
	case engine.HashKind:
		h := datatype.Hash(v.Data)
		return compactOr(v.Kind, h.Len(), func(i int) int { return max(len(h.Field(i)), len(h.Value(i))) })
	case engine.SortedSetKind:
		s := datatype.SortedSet(v.Data)
		return compactOr(v.Kind, s.Len(), func(i int) int { return len(s.Member(i)) })
	case engine.ListKind, engine.StreamKind:
		return looseEncodings[v.Kind]
	case engine.SetKind:
		return encodingOfSet(v.Data)
	case engine.StringKind:
		return encodingOfString(v.Data)
	}
	return "raw"
}

// compactOr returns the encoding of a hash or sorted set of n elements, which may be too many or too long for the
// compact one. size returns the length of an element's longest string.
func compactOr(kind engine.Kind, n int, size func(i int) int) string {
	if n > compactStrings {
		return looseEncodings[kind]
	}
	for i := range n {
		if size(i) > compactBytes {
			return looseEncodings[kind]
		}
	}
	return "listpack"
}

func encodingOfSet(s datatype.Set) string {
	if s.Len() > compactNumbers {
		return "hashtable"
	}
	for i := range s.Len() {
		if _, ok := command.ParseRedisInt(s.At(i)); !ok {
			return "hashtable"
		}
	}
	return "intset"
}

func encodingOfString(text []byte) string {
	if _, ok := command.ParseRedisInt(text); ok {
		return "int"
	}
	if len(text) > embeddedBytes {
		return "raw"
	}
	return "embstr"
}
