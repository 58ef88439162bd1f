package rls

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// descriptors parses a list of descriptors below parent, whose path is given.
func (r *reader) descriptors(parent *node, list *yaml.Node, path string, depth int) {
	elements := r.list(list, "descriptors")
	if len(elements) > 0 && depth > maxDepth {
		r.fail(list, "descriptors are nested more than %d deep", maxDepth)
	}
	for _, e := range elements {
		if r.err != nil {
			return
		}
		r.descriptor(parent, r.resolve(e), path, depth)
	}
}

// descriptor parses a descriptor. It accepts detailed_metric, value_to_metric and metadata, which change no decision.
func (r *reader) descriptor(parent *node, at *yaml.Node, path string, depth int) {
	f := r.fields(at, "key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode", "share_threshold", "detailed_metric", "value_to_metric", "metadata")
	key, value := r.text(f["key"]), r.text(f["value"])
	if key == "" {
		r.fail(at, "a descriptor needs a key that is not empty")
	}
	path += "." + key
	if value != "" {
		path += "_" + value
	}
	child := &node{}
	if r.toggle(f["share_threshold"], "share_threshold") {
		if !strings.Contains(value, "*") {
			r.fail(f["share_threshold"], "share_threshold needs a value with a *, got %s", quoted(value))
		}
		child.shared = value
	}
	r.toggle(f["detailed_metric"], "detailed_metric")
	r.toggle(f["value_to_metric"], "value_to_metric")
	rule := Rule{Path: path, Shadow: r.toggle(f["shadow_mode"], "shadow_mode"), Quota: r.toggle(f["quota_mode"], "quota_mode")}
	if limit := f["rate_limit"]; limit != nil && limit.Tag != "!!null" {
		r.rateLimit(&rule, limit)
		child.rule = &rule
		r.rules = append(r.rules, &rule)
	}
	if !parent.add(key, value, child) {
		r.fail(at, "the descriptor %s is there twice", quoted(path))
	}
	r.descriptors(child, f["descriptors"], path, depth+1)
}

// add makes child a descriptor of n. It reports false if n has one with the same key and value.
func (n *node) add(key, value string, child *node) bool {
	if n.children == nil {
		n.children = map[string]*values{}
	}
	v := n.children[key]
	if v == nil {
		v = &values{exact: map[string]*node{}}
		n.children[key] = v
	}
	if value == "" {
		if v.any != nil {
			return false
		}
		v.any = child
		return true
	}
	if v.exact[value] != nil {
		return false
	}
	v.exact[value] = child
	if strings.Contains(value, "*") {
		v.wildcards = append(v.wildcards, wildcard{strings.Split(value, "*"), child})
	}
	return true
}

// rateLimit parses the block rate_limit.
func (r *reader) rateLimit(rule *Rule, at *yaml.Node) {
	f := r.fields(at, "unit", "requests_per_unit", "unlimited", "name", "replaces", "algorithm", "policy", "with")
	rule.Name, rule.Policy, rule.Unlimited = r.text(f["name"]), r.text(f["policy"]), r.toggle(f["unlimited"], "unlimited")
	r.replaces(rule, f["replaces"])
	rule.Requests, rule.Unit = r.number(f["requests_per_unit"], "requests_per_unit"), unitOf(r.text(f["unit"]))
	switch {
	case rule.Unlimited:
		r.none(f, "unlimited", "unit", "algorithm", "policy", "with")
		return
	case rule.Policy != "":
		r.none(f, "policy", "unit", "requests_per_unit", "algorithm")
		r.with(rule, f["with"])
		return
	}
	r.none(f, "limits without a policy", "with")
	if rule.Unit == NoUnit {
		r.fail(orElse(f["unit"], at), "unit must be one of %s, got %s", unitWords(), quoted(r.text(f["unit"])))
	}
	if f["requests_per_unit"] == nil {
		r.fail(at, "requests_per_unit is missing: write it, with 0 to deny everything")
	}
	if name := r.text(f["algorithm"]); name != "" {
		if rule.Algorithm = algorithmOf(name); rule.Algorithm == limits.NoAlgorithm {
			r.fail(f["algorithm"], "algorithm must be one of %s, got %s", algorithmNames(), quoted(name))
		}
	}
	if r.err != nil {
		return
	}
	if err := rule.setLimit(); err != nil {
		r.fail(at, "%v", err)
	}
}

// none refuses fields that have no effect because of another one.
func (r *reader) none(f map[string]*yaml.Node, besides string, names ...string) {
	for _, name := range names {
		if f[name] != nil && f[name].Tag != "!!null" {
			r.fail(f[name], "%s has no effect together with %s: leave one of them out", name, besides)
		}
	}
}

// with parses the names of a policy's fields.
func (r *reader) with(rule *Rule, list *yaml.Node) {
	for _, e := range r.list(list, "with") {
		name := r.text(r.resolve(e))
		if !engine.IsFieldName([]byte(name)) || slices.Contains(rule.With, name) || len(rule.With) == engine.MaxFields {
			r.fail(e, "with takes up to %d different names of fields, which are keys of the descriptor, got %s", engine.MaxFields, quoted(name))
		}
		rule.With = append(rule.With, name)
	}
}

func (r *reader) replaces(rule *Rule, list *yaml.Node) {
	for _, e := range r.list(list, "replaces") {
		e = r.resolve(e)
		name := r.text(r.fields(e, "name")["name"])
		switch name {
		case "":
			r.fail(e, "replaces needs the name of another limit")
		case rule.Name:
			r.fail(e, "the limit %s replaces itself", quoted(name))
		}
		rule.Replaces = append(rule.Replaces, name)
	}
}

func orElse(n, other *yaml.Node) *yaml.Node {
	if n == nil {
		return other
	}
	return n
}
