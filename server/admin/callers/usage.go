package callers

import (
	"cmp"
	"context"
	"net/http"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/usage"
)

// Usage is a page of the usage of all callers of the policy that a request names, from its cursor on. Where --top-keys
// does not permit to show keys, it has hashes.
func Usage(ctx context.Context, s *server.Server, r *http.Request) (any, error) {
	query := r.URL.Query()
	replies, err := s.Do(ctx, r.RemoteAddr, []string{"RL.POLICY", "CALLERS", query.Get("policy"), cmp.Or(query.Get("cursor"), "0"), "COUNT", "10000"})
	if err != nil {
		return nil, err
	}
	page := usage.ReadPage(replies[0])
	if s.Config().TopKeys != "plain" {
		for i := range page.Callers {
			c := &page.Callers[i]
			key := c.KeyBase64
			if c.Key != nil {
				key = []byte(*c.Key)
			}
			hash := s.HashKey(key)
			c.Key, c.KeyBase64, c.ID, c.IDBase64, c.With = &hash, nil, nil, nil, nil
		}
	}
	return page, nil
}
