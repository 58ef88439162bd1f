package httplimit_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httplimit"
)

func TestFieldsSayThatALimitWarns(t *testing.T) {
	everybody := func(*http.Request) string { return "all" }
	limit := stint.Window(5, stint.Starting(24*time.Hour)).Warn(80)
	limits := httplimit.New(connect(t, address, stint.FailClosed()), "warns", limit, everybody)
	for i, want := range []string{`r=4;t=\d+`, `r=3;t=\d+`, `r=2;t=\d+`, `r=1;t=\d+;stint-warn`} {
		got := ask(limits).Header.Get("RateLimit")
		if !regexp.MustCompile(`^"warns";` + want + `$`).MatchString(got) {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
}
