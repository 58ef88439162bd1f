package main

import (
	"net"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/gofiber/storage/redis/v3"
)

func fiberLimiter(address, key string) (call, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	app := fiber.New()
	app.Use(limiter.New(limiter.Config{
		Max:          5,
		Expiration:   2 * time.Second,
		KeyGenerator: func(*fiber.Ctx) string { return key },
		Storage:      redis.New(redis.Config{Host: host, Port: port}),
	}))
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString("page") })
	return func() (bool, error) {
		response, err := app.Test(httptest.NewRequest("GET", "/", nil), -1)
		if err != nil {
			return false, err
		}
		return granted(response.StatusCode)
	}, nil
}
