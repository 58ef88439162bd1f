package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httplimit"
	"github.com/stintdb/stint/clients/go/stinttest"
)

func TestFieldsSayThatALimitWarns(t *testing.T) {
	limiter := stinttest.NewFake().Connect(stint.FailClosed())
	defer limiter.Close()
	everybody := func(*http.Request) string { return "all" }
	limits := httplimit.New(limiter, "api", stint.Window(5, stint.Day).Warn(80), everybody)
	handler := limits.Handler(http.NotFoundHandler())
	for i, want := range []string{`"api";r=4;t=86400`, `"api";r=3;t=86400`, `"api";r=2;t=86400`, `"api";r=1;t=86400;stint-warn`} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if got := w.Header().Get("RateLimit"); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
}
