// Program envoysettings prints the names of the environment variables that envoyproxy/ratelimit reads.
package main

import (
	"fmt"
	"reflect"

	"github.com/envoyproxy/ratelimit/src/settings"
)

func main() {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[settings.Settings]()) {
		if name := field.Tag.Get("envconfig"); name != "" {
			fmt.Println(name)
		}
	}
}
