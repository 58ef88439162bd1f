package server

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// integerArguments are all arguments that are integers: a command with %s in its place, and its range. Beyond it, and
// for everything that is no integer, the error names the argument.
var integerArguments = []struct {
	command     string
	name        string
	least, most int64
	refused     string // the error, when it is not the usual one
	word        string // the error for what does not begin as a number does, where an option may come instead
}{
	{"CL.THROTTLE k %s 1000000000000 1", "max_burst", 0, 999_999_999_999, "", ""},
	{"CL.THROTTLE k 0 %s 1", "count", 1, 1_000_000_000_000, "", ""},
	{"CL.THROTTLE k 0 1 %s", "period", 1, 315_360_000, "", ""},
	{"CL.THROTTLE k 0 1 1 %s", "quantity", 0, 1_000_000_000_000, "", ""},
	{"TB.ACQUIRE k %s 1000000000000", "capacity", 1, 1_000_000_000_000, "", ""},
	{"TB.ACQUIRE k 1 1 %s", "tokens", 1, 1_000_000_000_000, "", tokensOrOption},
	{"TB.ACQUIRE k 1 1 %s PEEK", "tokens", 1, 1_000_000_000_000, "", tokensOrOption},
	{"LB.ACQUIRE k %s 1000000000000", "capacity", 1, 1_000_000_000_000, "", ""},
	{"LB.ACQUIRE k 1 1 %s", "amount", 1, 1_000_000_000_000, "", notHere("LB.ACQUIRE", "PEEK, UPTO, FORCE, KEEP, MAXWAIT, BLOCK, AS, FOR, WARN, SPREAD")},
	{"LB.QUEUE k %s 1000000000000", "capacity", 0, 999_999_999_999, "", ""},
	{"LB.QUEUE k 1 1 %s", "amount", 1, 1_000_000_000_000, "", notHere("LB.QUEUE", "PEEK, BLOCK, WARN, SPREAD")},
	{"FW.ACQUIRE k %s 1h", "limit", 1, 1_000_000_000_000, "", ""},
	{"FW.ACQUIRE k 1 1h %s", "tokens", 1, 1_000_000_000_000, "", notHere("FW.ACQUIRE", "PEEK, UPTO, FORCE, KEEP, AS, FOR, TZ, FROM, HISTORY, ROLLOVER, WARN, SPREAD")},
	{"SW.ACQUIRE k %s 1h", "limit", 1, 1_000_000_000_000, "", ""},
	{"SW.ACQUIRE k 1 1h %s", "tokens", 1, 1_000_000_000_000, "", notHere("SW.ACQUIRE", "PEEK, UPTO, FORCE, KEEP, AS, FOR, SEGMENTS, WARN")},
	{"SL.ACQUIRE k %s 1h", "limit", 1, 100_000, "", ""},
	{"SL.ACQUIRE k 1 1h %s", "tokens", 1, 1_000_000_000_000, "", notHere("SL.ACQUIRE", "PEEK, UPTO, FORCE, KEEP, AS, FOR, WARN")},
	{"CC.ACQUIRE k %s 1h me", "limit", 1, 10_000, "", ""},
	{"RL.ALL CL k %s 1000000000000 1", "max_burst", 0, 999_999_999_999, "", ""},
	{"RL.ALL CL k 0 %s 1", "count", 1, 1_000_000_000_000, "", ""},
	{"RL.ALL CL k 0 1 %s", "period", 1, 315_360_000, "", ""},
	{"RL.ALL TB k %s 1000000000000", "capacity", 1, 1_000_000_000_000, "", ""},
	{"RL.ALL LB k %s 1000000000000", "capacity", 1, 1_000_000_000_000, "", ""},
	{"RL.ALL FW k %s 1h", "limit", 1, 1_000_000_000_000, "", ""},
	{"RL.ALL SW k %s 1h", "limit", 1, 1_000_000_000_000, "", ""},
	{"RL.ALL SL k %s 1h", "limit", 1, 100_000, "", ""},
	{"RL.ALL CC k %s 1h me", "limit", 1, 10_000, "", ""},
	{"RL.ALL TB k 1 1 TOKENS %s", "TOKENS", 1, 1_000_000_000_000, "", ""},
	{"RL.POLICY SET p SL k %s 1h", "limit", 1, 100_000, "", ""},
	{"RL.CHECK api me %s", "tokens", 1, 1_000_000_000_000, "", notHere("RL.CHECK", "PEEK, KEEP, MAXWAIT, BLOCK, PRIORITY, AS, FOR, WARN, SPLIT, WITH")},
	{"RL.REFUND k %s", "tokens", 1, 1_000_000_000_000, "", ""},
	{"RL.ATMOST k TB 10 1/m %s", "tokens", 0, 1_000_000_000_000, "", ""},
	{"HELLO %s", "", 2, 3, "-ERR Protocol version is not an integer or out of range", ""},
	{"SCAN 0 COUNT %s", "", 1, math.MaxInt64, "-ERR value is not an integer or out of range", ""},
	{"WAIT %s 0", "", 0, math.MaxInt64, "-ERR value is not an integer or out of range", ""},
	{"WAIT 0 %s", "", 0, math.MaxInt64, "-ERR timeout is not an integer or out of range", ""},
	{"MEMORY USAGE k SAMPLES %s", "", 0, math.MaxInt64, "-ERR value is not an integer or out of range", ""},
	{"ACL LOG %s", "", 0, math.MaxInt64, "-ERR value is not an integer or out of range", ""},
	{"ACL GENPASS %s", "", 1, 4096, "-ERR value is not an integer or out of range", ""},
	{"CLIENT KILL MAXAGE %s", "", 1, math.MaxInt64, "-ERR maxage is not an integer or out of range", ""},
	{"CLIENT LIST ID %s", "", 1, math.MaxInt64, "-ERR Invalid client ID", ""},
}

var tokensOrOption = notHere("TB.ACQUIRE", "PEEK, UPTO, FORCE, KEEP, MAXWAIT, BLOCK, AS, FOR, WARN, SPREAD")

// notHere is the error for a word that is none of a command's options.
func notHere(command, options string) string {
	return "-ERR syntax error: " + command + " does not take '%s' here; it takes " + options
}

// notIntegers are texts that are no signed 64-bit decimals.
var notIntegers = []string{
	"", " ", " 5", "5 ", "1e3", "1.0", "1.", ".5", "0x10", "1_000", "1,000", "+", "-", "--1", "+-1", "five", "5\x00", "\x005", "٥", "NaN", "inf",
	"99999999999999999999", "9223372036854775808", "-9223372036854775809", "18446744073709551617", strings.Repeat("9", 1000),
}

func TestIntegerArguments(t *testing.T) {
	ask := func(format, value string) string {
		p := newSessionPlayer(t, 0)
		if got, err := p.Do("", bytesOf(strings.Fields("RL.POLICY SET api TB user:{} 1 1/s")), ""); got != "+OK" {
			t.Fatal(got, err)
		}
		command := strings.Fields(format)
		for i, word := range command {
			if word == "%s" {
				command[i] = value
			}
		}
		got, err := p.Do("", bytesOf(command), "")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, a := range integerArguments {
		refuses := func(value string) {
			t.Helper()
			want := a.refused
			if want == "" {
				want = fmt.Sprintf("-ERR %s: must be an integer between %d and %d, got '%s'", a.name, a.least, a.most, plainText(value[:min(64, len(value))]))
			}
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > a.most && strings.HasSuffix(a.command, "k %s 1h") && a.most == 100_000 {
				want = fmt.Sprintf("-ERR limit: a sliding log keeps a time for every request, so its limit is at most 100000 (--max-sliding-log), "+
					"got '%s'; SW.ACQUIRE needs no log and takes more", value)
			}
			if a.word != "" && value != "" && !strings.Contains("0123456789+-. ", value[:1]) {
				want = fmt.Sprintf(a.word, plainText(value))
			}
			if got := ask(a.command, value); got != want {
				t.Errorf(a.command+":\n got %s\nwant %s", value, got, want)
			}
		}
		takes := func(value string) {
			t.Helper()
			if got := ask(a.command, value); strings.HasPrefix(got, "-") {
				t.Errorf(a.command+": %s", value, got)
			}
		}
		for _, text := range notIntegers {
			refuses(text)
		}
		for _, n := range []int64{a.least, a.most} {
			text := strconv.FormatInt(n, 10)
			takes(text)
			if strings.HasPrefix(a.command, "SCAN") { // as in Redis
				refuses("+" + text)
				refuses("000000000000000000000" + text)
				continue
			}
			takes("+" + text)
			takes("000000000000000000000" + text)
		}
		if a.least == 0 {
			takes("-0")
		}
		if a.refused != "" {
			continue // integers out of range have another error there: the transcripts have it
		}
		for _, n := range []int64{math.MinInt64, -1, a.least - 1, a.most + 1, math.MaxInt64} {
			refuses(strconv.FormatInt(n, 10))
		}
	}
}

// plainText is how a transcript shows text inside an error.
func plainText(s string) string {
	quoted := strconv.QuoteToASCII(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Rates and durations, as commands take them. What taken means exactly is tested in engine.
func TestRateArguments(t *testing.T) {
	p := newSessionPlayer(t, 0)
	for text, taken := range map[string]bool{
		"1": true, "100": true, "0.035": true, "1000/60": true, "1000/m": true, "3000/d": true, "5/500ms": true, "1/1.5m": true, "1/0.001": true,
		"1000000000000": true, "1000000000000/ms": true, "1/3650d": true, "1/S": true, "1/MS": true, "007": true, "1.50": true,
		"100/min": true, "100/minute": true, "5/hour": true, "1000/day": true, "10/sec": true, "10 per second": true, "16.666666666666668": true,
		"0.034722222222222224": true, "74.08800000000001": true, "1000000.000001": true, "123456.12345678/m": true, "1." + strings.Repeat("7", 60_000): true,

		"0.000000001": false, "1/.5s": false, "1/.5": false, "1/.5m": false, "5/.1s": false, "10 per": false, "10 per 5 s": false,
		"": false, "0": false, "-1": false, "+1": false, "1/0": false, "/s": false, "1//s": false, "1/": false, "5/": false, "1/-1s": false, "1/s/s": false,
		"1e3": true, "1.1574074074074073e-05": true, "1E-5/1.5e+1": true, "1e-05": true, "1e": false, "1e-9": false, "NaN": false, "inf": false, "0x10": false, " 1": false, "1 ": false, "1/ s": false, "1 /s": false, "1.": false, ".5": false,
		"1.2.3": false, "0.0": false, "0/s": false, "0.0/s": false, "1/y": false, "1/w": false, "1/us": false, "1/0.5ms": false, "1/3651d": false,
		"1000000000001": false, "1000000000000.1": false, "99999999999999999999": false, "1/99999999999999999999": false, "1\x00": false, "ten": false,
		strings.Repeat("1", 60_000): false, "0." + strings.Repeat("0", 100) + "1": false, "1/" + strings.Repeat("9", 100) + "s": false,
	} {
		for _, command := range [][]string{
			{"TB.ACQUIRE", "k", "1", text, "PEEK"}, {"LB.ACQUIRE", "k", "1", text, "PEEK"}, {"LB.QUEUE", "k", "0", text, "PEEK"},
			{"RL.ALL", "TB", "k", "1", text, "PEEK"}, {"RL.ALL", "LB", "k", "1", text, "PEEK"},
		} {
			got, err := p.Do("", bytesOf(command), "")
			if refused := strings.HasPrefix(got, "-ERR rate: must be a rate "); refused == taken || err != nil || taken && got[0] != '[' {
				t.Errorf("%.50q: %s (%v)", command, got, err)
			}
			if p.conns[""].closed {
				t.Errorf("%.50q closes the connection", command)
			}
		}
	}
	for text, taken := range map[string]bool{
		"1ms": true, "1": true, "0.001": true, "1.5m": true, "3650d": true, "315360000": true, "1H": true, "0250ms": true, "1e3": true, "1E-3": true, "36e5ms": true, "1e": false, "1e-4": false,
		"": false, "0": false, "0s": false, "-1s": false, "+1s": false, "1us": false, "0.5ms": false, "0.0001": false, "3651d": false, "315360001": false,
		"1 s": false, "s": false, "1ss": false, "1.": false, "NaN": false, "forever": false, "99999999999999999999s": false,
	} {
		for _, d := range []struct {
			name    string
			command []string
		}{
			{"MAXWAIT", []string{"TB.ACQUIRE", "k", "1", "1", "MAXWAIT", text, "PEEK"}},
			{"BLOCK", []string{"TB.ACQUIRE", "k", "1", "1", "BLOCK", text, "PEEK"}},
			{"MAXWAIT", []string{"LB.ACQUIRE", "k", "1", "1", "MAXWAIT", text, "PEEK"}},
			{"BLOCK", []string{"LB.ACQUIRE", "k", "1", "1", "BLOCK", text, "PEEK"}},
			{"BLOCK", []string{"LB.QUEUE", "k", "0", "1", "BLOCK", text, "PEEK"}},
			{"window", []string{"FW.ACQUIRE", "k", "1", text, "PEEK"}},
			{"window", []string{"FW.ACQUIRE", "k", "1", "@" + text, "PEEK"}},
			{"window", []string{"SW.ACQUIRE", "k", "1", text, "PEEK"}},
			{"window", []string{"SL.ACQUIRE", "k", "1", text, "PEEK"}},
			{"ttl", []string{"CC.ACQUIRE", "k", "1", text, "me", "PEEK"}},
			{"window", []string{"RL.ALL", "FW", "k", "1", text, "PEEK"}},
			{"window", []string{"RL.ALL", "SW", "k", "1", text, "PEEK"}},
			{"window", []string{"RL.ALL", "SL", "k", "1", text, "PEEK"}},
			{"ttl", []string{"RL.ALL", "CC", "k", "1", text, "me", "PEEK"}},
		} {
			got, err := p.Do("", bytesOf(d.command), "")
			refused := strings.HasPrefix(got, "-ERR "+d.name+": must be a duration between 1ms and 10 years")
			if refused == taken || err != nil || taken && got[0] != '[' {
				t.Errorf("%q: %s (%v)", d.command, got, err)
			}
		}
	}
}
