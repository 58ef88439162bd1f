// Command xds is a control plane made of go-control-plane, as Envoy Gateway has one. Each line of its input is a JSON array of rules for one
// domain each, which it pushes; its output has the answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
)

func main() {
	node := os.Args[1]
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	snapshots := cache.NewSnapshotCache(false, cache.IDHash{}, nil)
	answers := server.CallbackFuncs{StreamRequestFunc: func(_ int64, r *discovery.DiscoveryRequest) error {
		if r.GetResponseNonce() != "" {
			fmt.Printf("answer: version %q, refused because %q\n", r.GetVersionInfo(), r.GetErrorDetail().GetMessage())
		}
		return nil
	}}
	s := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(s, server.NewServer(context.Background(), snapshots, answers))
	go func() { log.Fatal(s.Serve(ln)) }()
	fmt.Println("listening on", ln.Addr())
	in := bufio.NewScanner(os.Stdin)
	for version := 1; in.Scan(); version++ {
		all, err := read(in.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		snapshot, err := cache.NewSnapshot(fmt.Sprint(version), map[resource.Type][]types.Resource{resource.RateLimitConfigType: all})
		if err != nil {
			log.Fatal(err)
		}
		if err := snapshots.SetSnapshot(context.Background(), node, snapshot); err != nil {
			log.Fatal(err)
		}
	}
}

// read reads the rules of a line.
func read(line []byte) (all []types.Resource, err error) {
	var texts []json.RawMessage
	if err := json.Unmarshal(line, &texts); err != nil {
		return nil, err
	}
	for _, text := range texts {
		c := new(config.RateLimitConfig)
		if err := protojson.Unmarshal(text, c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
