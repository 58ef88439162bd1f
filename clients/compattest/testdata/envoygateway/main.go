// Command translate prints what Envoy Gateway makes of its resource EnvoyGateway in a file: the container of the rate limit service, as JSON. The lines
// after it are the names of the inputs of its translator's tests, and the rules that it makes of each: a JSON array for the program xds.
// TestEnvoyGateway builds it within that module, because these packages are internal.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/envoyproxy/gateway/api/v1alpha1/validation"
	"github.com/envoyproxy/gateway/internal/envoygateway/config"
	"github.com/envoyproxy/gateway/internal/infrastructure/kubernetes/ratelimit"
	"github.com/envoyproxy/gateway/internal/ir"
	"github.com/envoyproxy/gateway/internal/xds/translator"
)

func main() {
	printContainer(os.Args[2])
	files, err := filepath.Glob(filepath.Join(os.Args[1], "internal/xds/translator/testdata/in/ratelimit-config/*.yaml"))
	if err != nil || len(files) == 0 {
		log.Fatal("there are no inputs ", err)
	}
	for _, file := range files {
		printRules(file)
	}
}

// printContainer reads the resource as Envoy Gateway does at its start.
func printContainer(file string) {
	resource, err := config.Decode(file)
	if err != nil {
		log.Fatal(file, ": ", err)
	}
	resource.SetEnvoyGatewayDefaults()
	if err := validation.ValidateEnvoyGateway(resource); err != nil {
		log.Fatal(file, ": ", err)
	}
	deployment, err := ratelimit.NewResourceRender("envoy-gateway-system", resource, nil).Deployment()
	if err != nil {
		log.Fatal(file, ": ", err)
	}
	text, err := json.Marshal(deployment.Spec.Template.Spec.Containers)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

func printRules(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	var in struct {
		HTTP []*ir.HTTPListener `json:"http"`
	}
	var one ir.HTTPListener // a file may be one
	if err := cmp.Or(yaml.Unmarshal(text, &in), yaml.Unmarshal(text, &one)); err != nil {
		log.Fatal(file, ": ", err)
	}
	if len(in.HTTP) == 0 {
		in.HTTP = append(in.HTTP, &one)
	}
	var all []string
	for _, rules := range translator.BuildRateLimitServiceConfig(in.HTTP) {
		text, err := protojson.Marshal(rules)
		if err != nil {
			log.Fatal(file, ": ", err)
		}
		all = append(all, string(text))
	}
	fmt.Printf("%s [%s]\n", strings.TrimSuffix(filepath.Base(file), ".yaml"), strings.Join(all, ", "))
}
