package main

import (
	"fmt"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/grouping"
	"github.com/stintdb/stint/server/config"
)

// checkPolicies returns an error if the groups of a new cluster would divide limits of a policy: some callers would
// only get CROSSSLOT. Then nothing is imported, because all callers would miss policies that were left out.
func (i *imported) checkPolicies(cfg *config.Config) error {
	groups := grouping.Groups{Count: cfg.Groups, Shared: cfg.ClusterShared}
	count, first := 0, ""
	i.store.PolicyOps(func(op *engine.Op) {
		d := groups.Divide(op)
		if d == nil {
			return
		}
		if count++; count > 1 {
			return
		}
		first = fmt.Sprintf("the limits of '%s' and '%s' of the policy %s", d.One, d.Other, op.Key)
		if op.Verb == engine.SetOverride {
			first += fmt.Sprintf(", as overridden for %s,", op.Who)
		}
	})
	if count == 0 {
		return nil
	}
	if count > 1 {
		first += fmt.Sprintf(", the first of %d such policies and overrides,", count)
	}
	return cli.Errorf("--cluster-import: %s would be in different groups for some callers, who would get CROSSSLOT: start all nodes with --groups 1, or with --cluster-shared and the keys that all callers share; "+
		"or on the server that %s is from, give the keys one hash tag, and import a new backup", first, i.path)
}
