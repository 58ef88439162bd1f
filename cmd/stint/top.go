package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stintdb/stint/server/config"
)

const topUsage = `Usage: stint top [--admin HOST:PORT] [--token TOKEN] [--every DURATION] [--once]

Shows the activity of a server: decisions per second, latency, the keys denied
most, policies and the members of its cluster, like the page at --admin. In a
terminal it runs until Ctrl-C; otherwise, or with --once, it prints one page of
text after one interval.

  --admin HOST:PORT   the server's --admin [default 127.0.0.1:6380]
  --token TOKEN       its --admin-token; better set STINT_ADMIN_TOKEN, which
                      other users of the machine cannot see
  --every DURATION    between refreshes, such as 500ms or 2s [default 1s]
  --once              print one page and end

Exit code 1: the server does not answer.
`

// top is the command `stint top`.
func (p *process) top(ctx context.Context, args []string) error {
	set := newFlags("top")
	defaults := config.Default()
	address := set.String("admin", defaults.Admin, "")
	token := set.String("token", p.variable("STINT_ADMIN_TOKEN"), "")
	every := set.Duration("every", time.Second, "")
	once := set.Bool("once", false, "")
	if err := parseOnlyFlags(set, args); err != nil {
		return err
	}
	if *every < 100*time.Millisecond || *every > time.Hour {
		return usagef("--every: must be between 100ms and 1h, got '%s'", *every)
	}
	if _, _, err := net.SplitHostPort(*address); err != nil {
		return usagef("--admin: must be HOST:PORT, such as %s, got '%s'", defaults.Admin, *address)
	}
	source := &topSource{url: "http://" + *address, token: *token, http: &http.Client{Timeout: 5 * time.Second}}
	screen := terminalOf(p.stdout)
	if screen == nil || *once {
		return topOnce(ctx, p.stdout, source, *every)
	}
	return topForever(ctx, screen, source, *every)
}

// variable is the value of an environment variable, "" if it is not set.
func (p *process) variable(name string) string {
	for _, v := range p.environ {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value
		}
	}
	return ""
}

// topOnce prints one page: rates need two answers.
func topOnce(ctx context.Context, to io.Writer, source *topSource, every time.Duration) error {
	before, err := source.overview(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(every):
	}
	now, err := source.overview(ctx)
	if err != nil {
		return err
	}
	policies, err := source.policies(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, topPage(before, now, policies, 100, 0))
	return err
}

// topForever redraws the page in place until ctx is done. It waits for a server that does not answer for a while.
func topForever(ctx context.Context, screen *os.File, source *topSource, every time.Duration) error {
	const enter, leave, home, clearRest = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H", "\x1b[J"
	before, err := source.overview(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(screen, enter)
	defer fmt.Fprint(screen, leave)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		width, height := sizeOf(screen)
		page := ""
		now, err := source.overview(ctx)
		var policies *topPolicies
		if err == nil {
			policies, err = source.policies(ctx)
		}
		if err != nil {
			page = fmt.Sprintf("no answer: %v\n", err)
		} else {
			page = topPage(before, now, policies, width, height)
			before = now
		}
		fmt.Fprint(screen, home+strings.ReplaceAll(page, "\n", "\x1b[K\n")+clearRest)
	}
}

// topSource is the server that is shown.
type topSource struct {
	url, token string
	http       *http.Client
}

func (s *topSource) overview(ctx context.Context) (*topOverview, error) {
	o := &topOverview{}
	return o, s.ask(ctx, "/api/overview", o)
}

func (s *topSource) policies(ctx context.Context) (*topPolicies, error) {
	v := &topPolicies{}
	return v, s.ask(ctx, "/api/policies", v)
}

// maxAnswer bounds the bytes read of an answer.
const maxAnswer = 8 << 20

func (s *topSource) ask(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.http.Do(r)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w; is the server running, with this --admin?", s.url, err)
	}
	defer response.Body.Close()
	body := json.NewDecoder(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode != http.StatusOK {
		var reason struct{ Error string }
		_ = body.Decode(&reason)
		return fmt.Errorf("%s answers %s: %s", s.url, response.Status, reason.Error)
	}
	if err := body.Decode(into); err != nil {
		return fmt.Errorf("%s does not answer like a Stint server: %w", s.url, err)
	}
	return nil
}
