// Package frameworks shows httplimit in common routers.
package frameworks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/clientip"
	"github.com/stintdb/stint/clients/go/httplimit"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servertest.Clean()
	os.Exit(code)
}

func withChi(limits *httplimit.Middleware) http.Handler {
	r := chi.NewRouter()
	r.Use(limits.Handler)
	r.Get("/hello/{name}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", chi.URLParam(r, "name")) })
	return r
}

func withGin(limits *httplimit.Middleware) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(func(c *gin.Context) {
		if !limits.Admit(c.Writer, c.Request) {
			c.Abort()
		}
	})
	r.GET("/hello/:name", func(c *gin.Context) { c.String(200, "hello %s", c.Param("name")) })
	return r
}

func withEcho(limits *httplimit.Middleware) http.Handler {
	e := echo.New()
	e.Use(echo.WrapMiddleware(limits.Handler))
	e.GET("/hello/:name", func(c echo.Context) error { return c.String(200, "hello "+c.Param("name")) })
	return e
}

func TestFrameworks(t *testing.T) {
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	limiter := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	defer limiter.Close()
	for name, handler := range map[string]func(*httplimit.Middleware) http.Handler{"chi": withChi, "gin": withGin, "echo": withEcho} {
		t.Run(name, func(t *testing.T) {
			site := handler(httplimit.New(limiter, name, stint.PerDay(2), httplimit.ByIP(clientip.Resolver{})))
			for i, want := range []int{200, 200, 429, 429} {
				r := httptest.NewRequest("GET", "/hello/world", nil)
				w := httptest.NewRecorder()
				site.ServeHTTP(w, r)
				denied := w.Header().Get("Content-Type") == "application/problem+json" && w.Header().Get("Retry-After") != ""
				if w.Code != want || (w.Body.String() == "hello world") != (want == 200) || denied != (want == 429) || w.Header().Get("RateLimit") == "" {
					t.Errorf("request %d: %d %v %s", i, w.Code, w.Header(), w.Body)
				}
			}
		})
	}
}
