package rls

import (
	"errors"
	"fmt"
	"strings"

	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
)

// AddPushed adds the domain of a resource that a control plane pushed. The error names the resource and the descriptor.
// After an error, the rules must not be used.
func (r *Rules) AddPushed(c *config.RateLimitConfig) error {
	name := c.GetDomain()
	if name == "" {
		return fmt.Errorf("%s: the domain is empty", quoted(c.GetName()))
	}
	if before := r.domains[name]; before != nil {
		return fmt.Errorf("%s: the domain %s is in %s already: put its descriptors in one resource", quoted(c.GetName()), quoted(name), quoted(before.file))
	}
	p := pushed{nodes: r.pushed}
	d := &domain{file: c.GetName()}
	if err := p.descriptors(&d.node, c.GetDescriptors(), name, 1); err != nil {
		return fmt.Errorf("%s: %w", quoted(c.GetName()), err)
	}
	r.pushed = p.nodes
	r.put(name, d, p.rules)
	return nil
}

// pushed reads one resource.
type pushed struct {
	nodes int // descriptors so far, including earlier resources
	rules []*Rule
}

// descriptors parses a list of descriptors below parent, whose path is given.
func (p *pushed) descriptors(parent *node, list []*config.RateLimitDescriptor, path string, depth int) error {
	if p.nodes += len(list); p.nodes > maxNodes {
		return fmt.Errorf("there are more than %d descriptors", maxNodes)
	}
	if len(list) > 0 && depth > maxDepth {
		return fmt.Errorf("descriptors are nested more than %d deep", maxDepth)
	}
	for _, d := range list {
		if d.GetKey() == "" {
			return fmt.Errorf("below %s: a descriptor needs a key that is not empty", quoted(path))
		}
		own := path + "." + d.GetKey()
		if d.GetValue() != "" {
			own += "_" + d.GetValue()
		}
		child := &node{}
		if err := p.limit(child, d, own); err != nil {
			return fmt.Errorf("the descriptor %s: %w", quoted(own), err)
		}
		if !parent.add(d.GetKey(), d.GetValue(), child) {
			return fmt.Errorf("the descriptor %s is there twice", quoted(own))
		}
		if err := p.descriptors(child, d.GetDescriptors(), own, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// limit parses the limit of a descriptor, if it has one.
func (p *pushed) limit(to *node, d *config.RateLimitDescriptor, path string) error {
	limit := d.GetRateLimit()
	if limit == nil {
		return nil
	}
	rule := &Rule{
		Path: path, Name: limit.GetName(), Requests: limit.GetRequestsPerUnit(), Unit: unitOf(limit.GetUnit().String()),
		Unlimited: limit.GetUnlimited(), Shadow: d.GetShadowMode(), Quota: d.GetQuotaMode(),
	}
	for _, other := range limit.GetReplaces() {
		switch name := other.GetName(); name {
		case "":
			return errors.New("replaces needs the name of another limit")
		case rule.Name:
			return fmt.Errorf("the limit %s replaces itself", quoted(name))
		default:
			rule.Replaces = append(rule.Replaces, name)
		}
	}
	switch {
	case rule.Unlimited && rule.Unit != NoUnit:
		return errors.New("unit has no effect together with unlimited: leave one of them out")
	case !rule.Unlimited && rule.Unit == NoUnit:
		return fmt.Errorf("unit must be one of %s, got %s", strings.ToUpper(unitWords()), limit.GetUnit())
	case !rule.Unlimited:
		if err := rule.setLimit(); err != nil {
			return err
		}
	}
	to.rule = rule
	p.rules = append(p.rules, rule)
	return nil
}
