package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stintdb/stint/server/config"
)

const healthUsage = `Usage: stint health [--admin HOST:PORT] [--alive]

Checks whether a server answers requests, for health checks of containers
without a shell and curl. It prints the answer.

  --admin HOST:PORT   the server's --admin [default STINT_ADMIN, or
                      127.0.0.1:6380]; for an address of all interfaces, the
                      loopback address is used
  --alive             check only whether the process is alive (/healthz), not
                      whether it answers requests (/readyz)

Exit code 0: yes. 1: no, or no answer within 5 seconds.
`

// healthTimeout bounds the time of the request.
const healthTimeout = 5 * time.Second

// health is the command `stint health`.
func (p *process) health(ctx context.Context, args []string) error {
	set := newFlags("health")
	address := set.String("admin", cmp.Or(p.variable("STINT_ADMIN"), config.Default().Admin), "")
	alive := set.Bool("alive", false, "")
	if err := parseOnlyFlags(set, args); err != nil {
		return err
	}
	host, err := adminHost(*address)
	if err != nil {
		return err
	}
	path := "/readyz"
	if *alive {
		path = "/healthz"
	}
	return p.askHealth(ctx, "http://"+host+path)
}

// askHealth prints the answer of a URL; any status but 200 is an error.
func (p *process) askHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	response, err := askAdmin(ctx, http.MethodGet, url, "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	said := strings.TrimSpace(string(body))
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, response.Status, said)
	}
	_, err = fmt.Fprintln(p.stdout, said)
	return err
}
