package httppace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

const (
	reportEvery = time.Second            // the time of one sum of answers
	maxAhead    = 250 * time.Millisecond // of a reservation, which a pause of another process does not stop
	samePause   = time.Second            // a pause that ends within it after the reported one is not reported
	reportFor   = time.Second            // the longest time that a report may take
)

// A Reporter tells an adaptive limit how calls went. *stint.Limiter is one.
type Reporter interface {
	Report(ctx context.Context, key string, r stint.Report) (pace stint.Pace, known bool, err error)
}

// news are the answers of one key that are not reported yet.
type news struct {
	good, bad int64
	due       bool      // a timer will report them
	paused    time.Time // the end of the pause that was reported last
}

// adapts reports whether the rate follows the answers.
func (t *Transport) adapts() bool { return t.Limit.Least() > 0 }

func (t *Transport) reporter() Reporter {
	r, _ := t.Limiter.(Reporter)
	return r
}

// check refuses settings with which nothing would be reported.
func (t *Transport) check() error {
	if !t.adapts() {
		return nil
	}
	if t.reporter() == nil {
		return fmt.Errorf("%w: an adaptive Limit needs a Limiter that is a Reporter, got %T", stint.ErrInvalid, t.Limiter)
	}
	return t.Report.Check()
}

// ahead is the longest time from now for which a request may reserve its turn.
func (t *Transport) ahead(until time.Time) time.Duration {
	left := time.Until(until)
	if t.adapts() {
		return min(left, maxAhead)
	}
	return left
}

// count adds an answer to the news. They are reported a second after the first of them, and at once if the answer asks
// all to pause.
func (t *Transport) count(ctx context.Context, g *gate, response *http.Response, err error, pause time.Duration) {
	if !t.adapts() || t.reporter() == nil {
		return
	}
	good, bad := judge(response, err)
	g.mu.Lock()
	g.news.good += good
	g.news.bad += bad
	ends := time.Now().Add(pause)
	urgent := pause > 0 && ends.After(g.news.paused.Add(samePause))
	var r stint.Report
	if urgent {
		g.news.paused = ends
		r = t.take(g)
		r.Pause = pause
	}
	begin := !urgent && !g.news.due && g.news.good+g.news.bad > 0
	g.news.due = g.news.due || begin
	g.mu.Unlock()
	switch {
	case urgent:
		t.report(context.WithoutCancel(ctx), g, r)
	case begin:
		time.AfterFunc(reportEvery, func() {
			g.mu.Lock()
			g.news.due = false
			r := t.take(g)
			g.mu.Unlock()
			t.report(context.Background(), g, r)
		})
	}
}

// take makes a report of the news, which begin anew. g.mu is held.
func (t *Transport) take(g *gate) stint.Report {
	r := stint.Report{Good: g.news.good, Bad: g.news.bad, Every: t.Report.Every, Down: t.Report.Down, Up: t.Report.Up}
	g.news.good, g.news.bad = 0, 0
	return r
}

// report sends the news. If that fails they are lost, which changes little: the next answers tell the same.
func (t *Transport) report(ctx context.Context, g *gate, r stint.Report) {
	if r.Good == 0 && r.Bad == 0 && r.Pause == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reportFor)
	defer cancel()
	_, _, _ = t.reporter().Report(ctx, g.key, r)
}

// judge tells whether the service asks for a lower rate: by 429, 503 or 504, or by a timeout. Other errors say nothing
// about the rate.
func judge(response *http.Response, err error) (good, bad int64) {
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		return 0, 1
	}
	if err != nil {
		return 0, 0
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, 1
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return 0, 0
	}
	return 1, 0
}
