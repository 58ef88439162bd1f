package docs

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limitReq is nginx's limit_req for one key, in its own units: milliseconds, and thousandths of a request.
type limitReq struct {
	rate, burst, delay int64 // thousandths a second, thousandths, thousandths
	excess, last       int64
	known              bool
}

// arrive decides on a request. wait is in milliseconds.
func (l *limitReq) arrive(now int64) (wait int64, ok bool) {
	excess := int64(0)
	if l.known {
		excess = max(0, l.excess-l.rate*(now-l.last)/1000+1000)
	}
	if excess > l.burst {
		return 0, false
	}
	l.excess, l.last, l.known = excess, now, true
	return max(0, excess-l.delay) * 1000 / l.rate, true
}

// TestNginx compares each command of the nginx recipe with the nginx directive it replaces, request by request.
func TestNginx(t *testing.T) {
	row := regexp.MustCompile("^\\| `limit_req zone=z(.*);` \\| `(.*)` \\|$")
	rows := 0
	p := newPlayer(t)
	for _, line := range readPage(t, "docs/recipes/nginx.md").lines {
		parts := row.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		rows++
		model := &limitReq{rate: 5000}
		switch parts[1] {
		case "":
		case " burst=12":
			model.burst = 12_000
		case " burst=12 nodelay":
			model.burst, model.delay = 12_000, 12_000
		case " burst=12 delay=8":
			model.burst, model.delay = 12_000, 8_000
		default:
			t.Fatalf("nobody knows what %s means", parts[1])
		}
		var command [][]byte
		for _, word := range strings.Fields(parts[2]) {
			if word == "BLOCK" { // the test is told how long the wait is
				if word = "MAXWAIT"; strings.HasPrefix(parts[2], "LB.QUEUE") {
					break
				}
			}
			command = append(command, []byte(word))
		}
		command[1] = []byte(parts[1])
		random := rand.New(rand.NewPCG(1, 5))
		accepted, denied, waited := 0, 0, 0
		now := int64(0)
		for i := range 3000 {
			pause := int64(random.ExpFloat64() * 150)
			if random.IntN(100) == 0 {
				pause += 4000
			}
			now += pause
			p.Advance(time.Duration(pause) * time.Millisecond)
			wait, ok := model.arrive(now)
			reply, err := p.Do("", command, "")
			if err != nil {
				t.Fatal(err)
			}
			fields := strings.Fields(strings.Trim(reply, "[]"))
			if len(fields) != 5 || (fields[0] == "1") != ok || ok && fields[3] != itoa(wait) {
				t.Fatalf("request %d of %s at %d ms: %s answers %s, nginx: %v, after %d ms", i, parts[1], now, command, reply, ok, wait)
			}
			switch {
			case !ok:
				denied++
			case wait > 0:
				waited++
			default:
				accepted++
			}
		}
		if delays := model.delay < model.burst; accepted < 50 || denied < 100 || delays && waited < 100 {
			t.Errorf("%s: only %d passed at once, %d waited, %d were denied", parts[1], accepted, waited, denied)
		}
	}
	if rows != 4 {
		t.Errorf("the page has %d rows", rows)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
