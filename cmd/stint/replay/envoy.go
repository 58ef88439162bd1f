package replay

import (
	"bytes"
)

// envoyFields are the fields of a line in Envoy's default format. ip is the first address in X-Forwarded-For.
var envoyFields = []string{"method", "uri", "path", "protocol", "status", "flags", "bytes_received", "bytes_sent", "duration", "upstream_time", "ip", "agent", "request_id", "authority", "upstream"}

const (
	envoyPlain  = 6 // words behind the request: status to upstream_time
	envoyQuoted = 5 // words in quotes behind them: ip to upstream
)

type envoy struct {
	clock  *clock
	fields []string
	words  [envoyPlain + envoyQuoted][]byte // of the line
}

func newEnvoy(fields []string, _ string, c *clock) parser { return &envoy{clock: c, fields: fields} }

func (p *envoy) parse(line []byte, values [][]byte) (int64, error) {
	if len(line) == 0 || line[0] != '[' {
		return 0, errShape
	}
	stamp, rest, ok := bytes.Cut(line[1:], []byte("] "))
	if !ok {
		return 0, errShape
	}
	now, err := p.clock.rfc3339(stamp)
	if err != nil {
		return 0, err
	}
	asked, rest, ok := quoted(rest)
	if !ok || !p.split(rest) {
		return 0, errShape
	}
	for i, f := range p.fields {
		switch f {
		case "method", "uri", "path", "protocol":
			values[i] = request(asked, f)
		case "ip":
			values[i], _, _ = bytes.Cut(p.words[envoyPlain], []byte(","))
		default:
			values[i] = p.words[envoyPosition(f)]
		}
	}
	return now, nil
}

// split cuts the text behind the request into its words.
func (p *envoy) split(rest []byte) (ok bool) {
	for i := range p.words {
		if len(rest) == 0 || rest[0] != ' ' {
			return false
		}
		rest = rest[1:]
		if i >= envoyPlain {
			if p.words[i], rest, ok = quoted(rest); !ok {
				return false
			}
			continue
		}
		at := bytes.IndexByte(rest, ' ')
		if at <= 0 {
			return false
		}
		p.words[i], rest = rest[:at], rest[at:]
	}
	return true
}

// envoyPosition is the position of a field among the words behind the request.
func envoyPosition(field string) int {
	for i, f := range envoyFields[4:] {
		if f == field {
			return i
		}
	}
	return 0
}
