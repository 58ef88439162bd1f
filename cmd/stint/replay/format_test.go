package replay

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// parseLine reads the last of lines and returns its time and fields.
func parseLine(t *testing.T, format string, fields []string, timeField string, lines ...string) (string, error) {
	t.Helper()
	c := &clock{zone: time.FixedZone("", 3600)}
	p, _, err := newParser(format, []byte(lines[0]), fields, timeField, c)
	if err != nil {
		return "", err
	}
	values := make([][]byte, len(fields))
	var now int64
	for _, line := range lines {
		now, err = p.parse([]byte(line), values)
	}
	if err != nil {
		return "", err
	}
	text := time.Unix(0, now).UTC().Format(time.RFC3339Nano)
	for _, v := range values {
		text += " " + string(v)
	}
	return text, nil
}

func TestLines(t *testing.T) {
	const combinedLine = `2001:db8::1 - al [22/Nov/2026:21:24:25 +0100] "GET /a/b?c=d HTTP/1.1" 200 512 "https://x/\"y" "curl \\"`
	for _, c := range []struct {
		name, format, fields, timeField, want string
		lines                                 []string
	}{
		{"combined", "", "ip user method path uri protocol status bytes referer agent", "",
			`2026-11-22T20:24:25Z 2001:db8::1 al GET /a/b /a/b?c=d HTTP/1.1 200 512 https://x/\"y curl \\`, []string{combinedLine}},
		{"common", "", "ip status bytes", "", "2026-11-22T20:24:25Z h 304 -", []string{`h - - [22/Nov/2026:20:24:25 +0000] "GET / HTTP/1.0" 304 -`}},
		{"no request behind the time", "combined", "ip", "", "2026-11-22T20:24:25Z h", []string{`h - - [22/Nov/2026:20:24:25 +0000]`}},
		{"combined cut off", "combined", "path", "", "does not match the format", []string{`h - - [22/Nov/2026:20:24:25 +0000] "GET /`}},
		{"combined without a time", "combined", "ip", "", "time", []string{`h - - [-] "GET / HTTP/1.0" 304 -`}},
		{"json", "", "ip", "", "2026-11-22T20:24:25Z a", []string{`{"ip": "a", "time": "2026-11-22T20:24:25Z"}`}},
		{"json, nested, numbers", "", "request.ip id", "", "2026-11-22T20:24:25.5Z a 7",
			[]string{`{"request":{"x":{"ip":"no"},"ip":"a"},"skip":[{"}":"]"}],"ts":1795379065.5,"id":7}`}},
		{"json, escapes", "", "ip", "at", "2026-11-22T20:24:25Z a\"é\n", []string{`{"ip":"a\"\u00e9\n","at":"1795379065000","ts":1}`}},
		{"json without the field", "", "ip", "", "missing", []string{`{"time":1795379065}`}},
		{"json, null", "", "ip", "", "missing", []string{`{"time":1795379065,"ip":null}`}},
		{"json cut off", "", "ip", "", "does not match the format", []string{`{"time":1795379065,"ip":"a"`}},
		{"no format", "", "ip", "", "cannot be guessed", []string{"hello"}},
		{"no such field", "combined", "host", "", "no field 'host'", []string{combinedLine}},
	} {
		got, err := parseLine(t, c.format, strings.Fields(c.fields), c.timeField, c.lines...)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %s", c.name, err, c.want)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"22/Nov/2026:21:24:25 -0230":          "2026-11-22T23:54:25Z",
		"2026-11-22T21:24:25Z":                "2026-11-22T21:24:25Z",
		"2026-11-22T21:24:25.123456789+02:00": "2026-11-22T19:24:25.123456789Z",
		"2026-11-22 21:24:25,5":               "2026-11-22T20:24:25.5Z", // of the zone given
		"2026-07-01T12:00:00":                 "2026-07-01T10:00:00Z",   // summer time
		"1795379065":                          "2026-11-22T20:24:25Z",
		"1795379065.25":                       "2026-11-22T20:24:25.25Z",
		"1795379065123":                       "2026-11-22T20:24:25.123Z",
		"1795379065123.5":                     "2026-11-22T20:24:25.1235Z",
		"1795379065123456":                    "2026-11-22T20:24:25.123456Z",
		"1795379065123456789":                 "2026-11-22T20:24:25.123456789Z",
		"22/Nop/2026:21:24:25 -0230":          "", "32/Nov/2026:21:24:25 +0000": "", "2026-13-22T21:24:25Z": "", "2026-11-22T21:24": "",
		"-5": "", "": "", "1e9": "", "99999999999999999999": "", "2026-11-22T21:24:25 somewhere": "",
	} {
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		c := &clock{zone: zone}
		got, err := c.any([]byte(text))
		if want == "" {
			if !errors.Is(err, errTime) {
				t.Errorf("%q was read as %d, %v", text, got, err)
			}
			continue
		}
		if text := time.Unix(0, got).UTC().Format(time.RFC3339Nano); err != nil || text != want {
			t.Errorf("read %s, %v; want %s", text, err, want)
		}
	}
}

// FuzzLines reads any two lines in every format.
func FuzzLines(f *testing.F) {
	for _, line := range []string{`h - - [22/Nov/2026:20:24:25 +0000] "GET / HTTP/1.0" 304 - "-" "\"`, `{"ip":"\u00e9","time":1,"a":{"b":[1,{}]}}`,
		`{"ip":"`} {
		f.Add(line, line)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, format := range FormatNames() {
			p, _, err := newParser(format, nil, []string{"ip"}, "", &clock{zone: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			values := make([][]byte, 1)
			for _, line := range []string{first, second, second} {
				now, err := p.parse([]byte(line), values)
				if err == nil && now < 0 {
					t.Errorf("%s: the time of %q is %d", format, line, now)
				}
			}
		}
	})
}

// FuzzTime compares times as in RFC 3339 with what package time reads.
func FuzzTime(f *testing.F) {
	f.Add("2026-11-22T21:24:25.123+02:00")
	f.Add("1999-02-29T23:59:59Z")
	f.Fuzz(func(t *testing.T, text string) {
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || want.Year() < 1971 || want.Year() > 2261 {
			return
		}
		c := &clock{zone: time.UTC}
		if got, err := c.any([]byte(text)); err == nil && got != want.UnixNano() {
			t.Errorf("%s is %d, not %d", text, got, want.UnixNano())
		}
	})
}
