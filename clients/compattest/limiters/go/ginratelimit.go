package main

import (
	"net/http/httptest"
	"time"

	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/gin-gonic/gin"
)

func ginRateLimit(address, key string) (call, error) {
	gin.SetMode(gin.ReleaseMode)
	store := ratelimit.RedisStore(&ratelimit.RedisOptions{RedisClient: goRedis(address), Rate: 2 * time.Second, Limit: 5})
	app := gin.New()
	app.Use(ratelimit.RateLimiter(store, &ratelimit.Options{KeyFunc: func(*gin.Context) string { return key }}))
	app.GET("/", func(c *gin.Context) { c.String(200, "page") })
	return func() (bool, error) {
		response := httptest.NewRecorder()
		app.ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
		return granted(response.Code)
	}, nil
}
