package resp

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

var testLimits = Limits{MaxArgs: 4, MaxBulk: 10, MaxInline: 40, MaxSkip: 100}

// readAll reads every command in the input, which arrives in pieces that end at the cuts, and shows what became of it.
func readAll(limits Limits, input string, cuts ...int) string {
	var out strings.Builder
	r, at := Reader{Limits: limits}, 0
	for _, end := range append(cuts, len(input)) {
		for {
			args, length, err := r.Next([]byte(input[at:end]))
			at += length
			switch {
			case err != nil && length == 0:
				fmt.Fprintf(&out, "!%v", err)
				return out.String()
			case err != nil:
				fmt.Fprintf(&out, "{%v}", err)
			case length > 0 && !r.IsSkipping():
				fmt.Fprintf(&out, "%q", args)
			}
			if length == 0 {
				break
			}
		}
	}
	if at < len(input) {
		fmt.Fprintf(&out, "+%d", len(input)-at)
	}
	return out.String()
}

// Commands in brackets, then the error after !, or the number of bytes that wait for more after +.
var frames = []struct{ input, want string }{
	{"", ""},
	{"*1\r\n$4\r\nPING\r\n", `["PING"]`},
	{"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", `["ECHO" ""]`},
	{"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nping\r\n", `["PING"]["ping"]`},
	{"*2\r\n$1\r\na\r\n$10\r\n0123456789\r\n", `["a" "0123456789"]`},
	{"*2\r\n$3\r\n\r\n*\r\n$2\r\n\x00\xff\r\n", `["\r\n*" "\x00\xff"]`},
	{"*1\r\n$04\r\nPING\r\n", `["PING"]`},

	// No command at all: Redis passes over these.
	{"*0\r\n*1\r\n$1\r\na\r\n", `[]["a"]`},
	{"*-1\r\n*-0\r\na\r\n", `[][]["a"]`},
	{"*-9000000000000000\r\n", `[]`},
	{"\r\n\n  \r\na\n", `[][][]["a"]`},

	// Not whole yet.
	{"*", "+1"},
	{"*1", "+2"},
	{"*1\r", "+3"},
	{"*1\r\n", "+4"},
	{"*1\r\n$", "+5"},
	{"*1\r\n$4\r\nPIN", "+11"},
	{"*1\r\n$4\r\nPING", "+12"},
	{"*1\r\n$4\r\nPING\r", "+13"},
	{"*4\r\n$1\r\na\r\n", "+11"},
	{"a b", "+3"},
	{"*1\r\n$1\r\na\r\n*1\r\n$1", `["a"]+6`},

	// Counts.
	{"*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n", `["a" "b" "c" "d"]`},
	{"*5\r\n", ""},
	{"*5\r\n$1\r\na\r\n$1\r\nb\r\n$0\r\n\r\n$1\r\nd\r\n$1\r\ne\r\na\r\n", `{ERR arguments: at most 4 (--max-args), got 5: nothing was executed}["a"]`},
	{"*6\r\n$1\r\na\r\n$32\r\n*1\r\n$8\r\nFLUSHALL\r\n01234567890123\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n*1\r\n$1\r\na\r\n", `{ERR arguments: at most 4 (--max-args), got 6: nothing was executed}["a"]`},
	{"*5\r\n$1\r\na\r\n$9", "+2"},
	{"*5\r\n$1\r\na\r\n$90\r\n", "!ERR Protocol error: invalid multibulk length: at most 4 arguments (--max-args), got 5, which are too many to skip"},
	{"*5\r\n$1\r\na\r\n:1\r\n", "!ERR Protocol error: expected '$', got ':'"},
	{"*5\r\n$1\r\na\r\n$1\r\nbc\r\n", "!ERR Protocol error: expected CRLF after bulk"},
	{"*16\r\n", ""},
	{"*17\r\n", "!ERR Protocol error: invalid multibulk length: at most 4 arguments (--max-args), got 17, which are too many to skip"},
	{"*2147483647\r\n", "!ERR Protocol error: invalid multibulk length: at most 4 arguments (--max-args), got 2147483647, which are too many to skip"},
	{"*9223372036854775807\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*99999999999999999999999\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*abc\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*-\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*+1\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*1.0\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"* 1\r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*1 \r\n", "!ERR Protocol error: invalid multibulk length"},
	{"*1\n$4\nPING\n", "!ERR Protocol error: invalid multibulk length"},
	{"*1\rx", "!ERR Protocol error: invalid multibulk length"},
	{"*" + strings.Repeat("0", 40), "!ERR Protocol error: too big mbulk count string"},

	// Lengths.
	{"*1\r\n$11\r\n", ""},
	{"*1\r\n$11\r\n01234567890", ""},
	{"*1\r\n$11\r\n01234567890\r", "+1"},
	{"*2\r\n$1\r\na\r\n$11\r\n01234567890\r\na\r\n", `{ERR argument: at most 10 bytes (--max-bulk-size), got 11: nothing was executed}["a"]`},
	{"*3\r\n$1\r\na\r\n$11\r\n*1\r\n$1\r\na\r\n\r\n$12\r\n012345678901\r\na\r\n", `{ERR argument: at most 10 bytes (--max-bulk-size), got 11: nothing was executed}["a"]`},
	{"*1\r\n$11\r\n01234567890x\r\n", "!ERR Protocol error: expected CRLF after bulk"},
	{"*1\r\n$95\r\n", "!ERR Protocol error: invalid bulk length: at most 10 bytes (--max-bulk-size), got 95, which are too many to skip"},
	{"*1\r\n$999999999999\r\n", "!ERR Protocol error: invalid bulk length: at most 10 bytes (--max-bulk-size), got 999999999999, which are too many to skip"},
	{"*1\r\n$9223372036854775808\r\n", "!ERR Protocol error: invalid bulk length"},
	{"*1\r\n$-1\r\n", "!ERR Protocol error: invalid bulk length"},
	{"*1\r\n$\r\n", "!ERR Protocol error: invalid bulk length"},
	{"*1\r\n$four\r\n", "!ERR Protocol error: invalid bulk length"},
	{"*1\r\n$0x4\r\n", "!ERR Protocol error: invalid bulk length"},
	{"*1\r\n$" + strings.Repeat("0", 40), "!ERR Protocol error: too big bulk count string"},
	{"*2\r\n$1\r\na\r\n$-1\r\n", "!ERR Protocol error: invalid bulk length"},

	// Something else where an argument belongs.
	{"*1\r\n*1\r\n$4\r\nPING\r\n", "!ERR Protocol error: expected '$', got '*'"},
	{"*1\r\n:1\r\n", "!ERR Protocol error: expected '$', got ':'"},
	{"*2\r\n$1\r\na\r\nb\r\n", "!ERR Protocol error: expected '$', got 'b'"},
	{"*1\r\n\r\n", "!ERR Protocol error: expected '$', got '?'"},
	{"*1\r\n$4\r\nPINGPONG\r\n", "!ERR Protocol error: expected CRLF after bulk"},
	{"*1\r\n$4\r\nPING\n\n", "!ERR Protocol error: expected CRLF after bulk"},
	{"*1\r\n$3\r\nPING\r\n", "!ERR Protocol error: expected CRLF after bulk"},
	{"a\r\n*1\r\n$4\r\nPINGPONG\r\n", `["a"]!ERR Protocol error: expected CRLF after bulk`},

	// The inline form.
	{"PING\r\n", `["PING"]`},
	{"PING\n", `["PING"]`},
	{"  a\t b \x0b c\r\n", `["a" "b" "c"]`},
	{"a b c d\r\n", `["a" "b" "c" "d"]`},
	{"a b c d e\r\na\r\n", `{ERR arguments: at most 4 (--max-args), got 5: nothing was executed}["a"]`},
	{`a "b c"` + "\r\n", `["a" "b c"]`},
	{`a ""` + "\r\n", `["a" ""]`},
	{`"a"`, "+3"},
	{`a 'b c' ''` + "\r\n", `["a" "b c" ""]`},
	{`a "\x41\x0d\n\r\t\b\a\\\"\q"` + "\n", `["a" "A\r\n\r\t\b\a\\\"q"]`},
	{`a "\xZZ\x4" b` + "\n", `["a" "xZZx4" "b"]`},
	{`a 'it\'s' '\n'` + "\n", `["a" "it's" "\\n"]`},
	{`a pre"fix"` + "\n", `["a" "prefix"]`},
	{`a "open` + "\r\n", "!ERR Protocol error: unbalanced quotes in request"},
	{`a 'open` + "\n", "!ERR Protocol error: unbalanced quotes in request"},
	{`a "b"c` + "\n", "!ERR Protocol error: unbalanced quotes in request"},
	{`a "b\"` + "\n", "!ERR Protocol error: unbalanced quotes in request"},
	{`a "b\` + "\n", "!ERR Protocol error: unbalanced quotes in request"},
	{`"` + "\n", "!ERR Protocol error: unbalanced quotes in request"},
	{"$4\r\n", `["$4"]`},
	{"\x00\xff\r\n", `["\xff"]`},
	{strings.Repeat("a", 40) + "\n", `["` + strings.Repeat("a", 40) + `"]`},
	{strings.Repeat("a", 41) + "\na\n", `{ERR line of text: at most 40 bytes (--max-bulk-size): nothing was executed}["a"]`},
	{strings.Repeat("a", 101), "!ERR Protocol error: too big inline request: at most 40 bytes (--max-bulk-size), got too many to skip"},
}

func TestReader(t *testing.T) {
	for _, f := range frames {
		if got := readAll(testLimits, f.input); got != f.want {
			t.Errorf("%q\n got %s\nwant %s", f.input, got, f.want)
		}
	}
}

// However the bytes arrive, the same comes out.
func TestReaderInPieces(t *testing.T) {
	for _, f := range frames {
		all := make([]int, len(f.input))
		for i := range f.input {
			all[i] = i
			if got := readAll(testLimits, f.input, i); got != f.want {
				t.Errorf("%q cut at %d\n got %s\nwant %s", f.input, i, got, f.want)
			}
		}
		if got := readAll(testLimits, f.input, all...); got != f.want {
			t.Errorf("%q byte by byte\n got %s\nwant %s", f.input, got, f.want)
		}
	}
}

// An incomplete command costs no look at its bytes until it can be whole: a slow sender cannot make the reader busy.
func TestReaderWaitsForWhatIsMissing(t *testing.T) {
	r := Reader{Limits: Limits{MaxArgs: 4, MaxBulk: 1000}}
	head := []byte("*2\r\n$4\r\nECHO\r\n$1000\r\n")
	if _, length, err := r.Next(head); length != 0 || err != nil {
		t.Fatal(length, err)
	}
	if want := len(head) + 1000 + 2; r.need != want {
		t.Errorf("waits for %d bytes, want %d", r.need, want)
	}
	// Bytes that would be refused are not even looked at.
	if _, length, err := r.Next([]byte("*x")); length != 0 || err != nil {
		t.Error(length, err)
	}
}

// The arguments of an incomplete command that are whole are looked at once, not again for each that arrives.
func TestReaderContinues(t *testing.T) {
	r := Reader{Limits: Limits{MaxArgs: 4, MaxBulk: 1000}}
	input := []byte("*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n")
	if _, length, err := r.Next(input[:len(input)-7]); length != 0 || err != nil {
		t.Fatal(length, err)
	}
	broken := append([]byte("*3\r\nX"), input[5:len(input)-1]...)
	if _, length, err := r.Next(broken[:len(input)-1]); length != 0 || err != nil {
		t.Error("an argument is looked at again:", length, err)
	}
	if args, length, err := r.Next(input); length != len(input) || err != nil || len(args) != 3 {
		t.Error(args, length, err)
	}
}

// An unfinished command beyond its bound is skipped, whichever part of it is missing, and closes before a login.
func TestReaderSkipsTheUnfinished(t *testing.T) {
	limits := Limits{MaxArgs: 100, MaxBulk: 100, MaxInline: 100, MaxUnfinished: 20, MaxSkip: 200}
	const skipped = `{ERR unfinished command: at most 20 bytes (--query-buffer-size): nothing was executed}["a"]`
	for _, c := range []struct {
		input string
		cut   int
	}{
		{"*2\r\n$30\r\n012345678901234567890123456789\r\n$1\r\nb\r\na\r\n", 30},
		{"*4\r\n$1\r\na\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\na\r\na\r\n", 21},
		{"*4\r\n$1\r\na\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\na\r\na\r\n", 25},
		{"*4\r\n$1\r\na\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\na\r\na\r\n", 26},
		{"0123456789012345678901234567890123456789\r\na\r\n", 22},
	} {
		if got := readAll(limits, c.input, c.cut); got != skipped {
			t.Errorf("%q cut at %d: %s", c.input, c.cut, got)
		}
		before := limits
		before.MaxSkip, before.BeforeLogin = 0, true
		if got := readAll(before, c.input, c.cut); got != "!ERR Protocol error: command: at most 20 bytes before a login (--preauth-size)" {
			t.Errorf("%q before a login: %s", c.input, got)
		}
	}
}

// A skipped command takes no memory.
func TestReaderSkipsWithoutMemory(t *testing.T) {
	input := append([]byte("*3\r\n$100000\r\n"), bytes.Repeat([]byte("x"), 100_000)...)
	r := Reader{Limits: Limits{MaxArgs: 2, MaxBulk: 10, MaxSkip: 1 << 30}}
	if _, length, err := r.Next(input); length != len(input) || err != nil || !r.IsSkipping() || r.Bytes() > 0 {
		t.Error(length, err, r.IsSkipping(), r.Bytes())
	}
}

// A header alone allocates nothing.
func TestReaderAllocatesNothingForHeaders(t *testing.T) {
	input := []byte("*1000000\r\n$500000000\r\n")
	r := Reader{Limits: Limits{MaxArgs: 1 << 20, MaxBulk: 512 << 20}}
	if n := testing.AllocsPerRun(100, func() {
		r.need = 0
		if _, length, err := r.Next(input); length != 0 || err != nil {
			t.Fatal(length, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a command that has not arrived", n)
	}
}

func FuzzReader(f *testing.F) {
	for _, frame := range frames {
		f.Add([]byte(frame.input), uint8(len(frame.input)/2))
	}
	f.Fuzz(func(t *testing.T, input []byte, cut uint8) {
		whole := readAll(testLimits, string(input))
		if at := int(cut); at < len(input) {
			if got := readAll(testLimits, string(input), at); got != whole {
				t.Errorf("%q cut at %d: %s, at once %s", input, at, got, whole)
			}
		}
		if len(input) > 200 {
			return
		}
		each := make([]int, len(input))
		for i := range input {
			each[i] = i
		}
		if got := readAll(testLimits, string(input), each...); got != whole {
			t.Errorf("%q byte by byte: %s, at once %s", input, got, whole)
		}
	})
}

// The words of a line are not copied, unless there are quotes in them.
func TestInlineAllocatesNothing(t *testing.T) {
	input := []byte("ECHO " + strings.Repeat("x", 1000) + "\t a\r\n")
	r := Reader{Limits: Limits{MaxArgs: 4, MaxInline: 2000}}
	if n := testing.AllocsPerRun(100, func() {
		if args, length, err := r.Next(input); length != len(input) || err != nil || len(args) != 3 || len(args[1]) != 1000 {
			t.Fatal(length, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a line without quotes", n)
	}
}

// After Forget a reader keeps no buffer in memory, and continues with an incomplete command.
func TestForget(t *testing.T) {
	r := Reader{Limits: Limits{MaxArgs: 1000, MaxBulk: 100, MaxInline: 100}}
	whole := []byte("*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n")
	if _, n, err := r.Next(whole); n != len(whole) || err != nil {
		t.Fatal(n, err)
	}
	_, _, _ = r.Next(whole[:20])
	r.Forget()
	for _, a := range r.args[:cap(r.args)] {
		if a != nil {
			t.Errorf("%q is kept", a)
		}
	}
	if args, n, err := r.Next(whole); n != len(whole) || err != nil || string(args[1]) != "hello" {
		t.Errorf("%q, %d, %v", args, n, err)
	}
	large := append([]byte("*900\r\n"), bytes.Repeat([]byte("$1\r\nx\r\n"), 900)...)
	if _, n, err := r.Next(large); n != len(large) || err != nil || r.Bytes() < 900*24 {
		t.Fatal(n, err, r.Bytes())
	}
	if r.Forget(); r.Bytes() != 0 {
		t.Errorf("%d bytes are kept", r.Bytes())
	}
}
