package policyfile

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/stintdb/stint/server/usage"
)

// usage prints the usage of all callers of a policy, page by page: as CSV, or as a line of JSON for each key. It is an
// error if the keys of some groups are on other nodes.
func (c *Command) usage(ctx context.Context, policy string) error {
	table, lines := csv.NewWriter(c.Out), json.NewEncoder(c.Out)
	page := new(usage.Page)
	for cursor := "0"; page.Cursor != "0"; cursor = page.Cursor {
		page = new(usage.Page)
		path := "/api/policy/usage?" + url.Values{"policy": {policy}, "cursor": {cursor}}.Encode()
		if err := c.request(ctx, http.MethodGet, path, nil, page); err != nil {
			return err
		}
		if cursor == "0" && !c.asJSON {
			if err := table.Write(usage.Header); err != nil {
				return err
			}
		}
		for i := range page.Callers {
			var err error
			if c.asJSON {
				err = lines.Encode(&page.Callers[i])
			} else {
				err = table.Write(page.Callers[i].Row())
			}
			if err != nil {
				return err
			}
		}
		if table.Flush(); table.Error() != nil {
			return table.Error()
		}
	}
	if len(page.Elsewhere) > 0 {
		return fmt.Errorf("the output is not complete, because this node does not store the keys of the groups %v: ask other nodes too", page.Elsewhere)
	}
	return nil
}
