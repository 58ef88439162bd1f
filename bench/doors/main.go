// Command doors is the load and the yardstick of the measurement of HTTP and gRPC: servers that only answer that a request is
// granted, and clients that ask them or Stint. They are processes apart, so that the CPU time of a server is only the server's.
//
//	doors serve -http ADDR -grpc ADDR    serves both, and prints their addresses when it is ready
//	doors load -http ADDR                asks POST /v1/check, and prints the result in JSON
//	doors load -grpc ADDR                asks Envoy's rate limit service
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "doors:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var l load
	flags := flag.NewFlagSet("doors", flag.ContinueOnError)
	web := flags.String("http", "", "address of the HTTP server")
	rpc := flags.String("grpc", "", "address of the gRPC server")
	flags.IntVar(&l.workers, "workers", 50, "requests at once")
	flags.IntVar(&l.keys, "keys", 100_000, "number of ids")
	flags.Float64Var(&l.perSecond, "rate", 0, "requests per second; 0 is as many as possible")
	flags.DurationVar(&l.duration, "duration", time.Second, "how long")
	if len(args) == 0 || args[0] != "serve" && args[0] != "load" {
		return errors.New("want serve or load")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "serve" {
		return serve(*web, *rpc)
	}
	connect := httpAskers(*web)
	switch {
	case (*web == "") == (*rpc == ""):
		return errors.New("give either -http or -grpc")
	case l.workers < 1 || l.keys < 1 || l.duration <= 0 || l.perSecond < 0:
		return errors.New("-workers, -keys and -duration must be above 0, and -rate not below")
	case *rpc != "":
		connect = grpcAskers(*rpc)
	}
	result, err := l.run(connect)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
