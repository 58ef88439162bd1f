// Command translate prints the rules that Envoy Gateway makes of the inputs of its tests. TestEnvoyGateway builds it within that module, because
// the translator is internal. Each line is the name of an input, and its rules: a JSON array for the program xds.
package main

import (
	"cmp"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/envoyproxy/gateway/internal/ir"
	"github.com/envoyproxy/gateway/internal/xds/translator"
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "internal/xds/translator/testdata/in/ratelimit-config/*.yaml"))
	if err != nil || len(files) == 0 {
		log.Fatal("there are no inputs ", err)
	}
	for _, file := range files {
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
			json, err := protojson.Marshal(rules)
			if err != nil {
				log.Fatal(file, ": ", err)
			}
			all = append(all, string(json))
		}
		fmt.Printf("%s [%s]\n", strings.TrimSuffix(filepath.Base(file), ".yaml"), strings.Join(all, ", "))
	}
}
