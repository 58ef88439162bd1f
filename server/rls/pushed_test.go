package rls

import (
	"fmt"
	"strings"
	"testing"

	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
)

// A push may have as many descriptors as a file has values, no matter among how many resources they are divided,
// because a descriptor takes more memory than its few bytes in the push.
func TestDescriptorsOfAPushAreBounded(t *testing.T) {
	r := new(Rules)
	for i := range 2 {
		c := &config.RateLimitConfig{Name: fmt.Sprint("r", i), Domain: fmt.Sprint("d", i)}
		for j := range maxNodes/2 + i {
			c.Descriptors = append(c.Descriptors, &config.RateLimitDescriptor{Key: fmt.Sprint("k", j)})
		}
		if err := r.AddPushed(c); (err == nil) != (i == 0) || i == 1 && !strings.Contains(err.Error(), "more than 200000 descriptors") {
			t.Errorf("resource %d: %v", i, err)
		}
	}
}
