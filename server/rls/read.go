package rls

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The limits of a configuration.
const (
	MaxFileBytes = 4 << 20
	maxNodes     = 200_000 // YAML nodes in a file, counting the target of an alias each time; and descriptors in a push
	maxDepth     = 64      // of nested descriptors
)

// Add reads a file and adds its domain. An error begins with FILE:LINE. After an error, the rules must not be used.
func (r *Rules) Add(file string, text []byte) error {
	d, name, all, err := read(file, text)
	if err != nil {
		return err
	}
	if before := r.domains[name]; before != nil {
		return fmt.Errorf("%s: the domain %q is in %s already: put its descriptors in one file", file, name, before.file)
	}
	r.put(name, d, all)
	return nil
}

// reader reads one file, up to the first error.
type reader struct {
	file  string
	nodes int // visited nodes
	rules []*Rule
	err   error
}

// read returns a file's domain, its name, and its rules.
func read(file string, text []byte) (*domain, string, []*Rule, error) {
	if len(text) > MaxFileBytes {
		return nil, "", nil, fmt.Errorf("%s: %d bytes are too many: a file has at most %d", file, len(text), MaxFileBytes)
	}
	var document, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, "", nil, fmt.Errorf("%s:1: the file is empty: write a domain and its descriptors, or remove it", file)
		}
		return nil, "", nil, syntaxError(file, err)
	}
	r := &reader{file: file}
	switch err := d.Decode(&second); {
	case err == nil:
		r.fail(&second, "a second document begins: put each domain in a separate file")
	case !errors.Is(err, io.EOF):
		return nil, "", nil, syntaxError(file, err)
	}
	root := r.fields(document.Content[0], "domain", "descriptors")
	name := r.text(root["domain"])
	if name == "" {
		r.fail(document.Content[0], "the file needs a domain that is not empty, such as domain: example")
	}
	result := &domain{file: file}
	r.descriptors(&result.node, root["descriptors"], name, 1)
	return result, name, r.rules, r.err
}

// syntaxError turns "yaml: line 2: what" into FILE:2: what.
func syntaxError(file string, err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(what, "line "); found {
		return fmt.Errorf("%s:%s", file, rest)
	}
	return fmt.Errorf("%s:1: %s", file, what)
}

// fail records an error at a node, if it is the first.
func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s:%d: %s", r.file, max(n.Line, 1), fmt.Sprintf(format, args...))
	}
}

// resolve follows an alias. It counts nodes, so that a short file cannot stand for a huge one.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	if r.nodes++; r.nodes > maxNodes {
		r.fail(n, "the file expands to more than %d values: use fewer aliases", maxNodes)
		return &yaml.Node{}
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// fields returns the values of a mapping by their keys, which must be known.
func (r *reader) fields(n *yaml.Node, known ...string) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	r.addFields(found, n, known, 0)
	return found
}

func (r *reader) addFields(found map[string]*yaml.Node, n *yaml.Node, known []string, depth int) {
	n = r.resolve(n)
	if n.Kind != yaml.MappingNode {
		r.fail(n, "must be names and values, one of %s, got %s", strings.Join(known, ", "), shape(n))
		return
	}
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Tag == "!!merge" {
			continue
		}
		if !slices.Contains(known, name.Value) {
			r.fail(name, "unknown name %s, must be one of %s", quoted(name.Value), strings.Join(known, ", "))
		} else if depth == 0 && found[name.Value] != nil {
			r.fail(name, "%s is there twice", name.Value)
		} else if found[name.Value] == nil {
			found[name.Value] = r.resolve(value)
		}
	}
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		if depth == maxDepth {
			r.fail(n, "<< is nested more than %d deep", maxDepth)
			return
		}
		merged := r.resolve(n.Content[i+1])
		if merged.Kind != yaml.SequenceNode {
			r.addFields(found, merged, known, depth+1)
			continue
		}
		for _, m := range merged.Content {
			r.addFields(found, m, known, depth+1)
		}
	}
}

// list returns the elements of a sequence, none if it is nil or null.
func (r *reader) list(n *yaml.Node, name string) []*yaml.Node {
	if n == nil || n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "%s must be a list, got %s", name, shape(n))
		return nil
	}
	return n.Content
}

// text returns a scalar, "" if it is nil or null.
func (r *reader) text(n *yaml.Node) string {
	if n == nil || n.Tag == "!!null" {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		r.fail(n, "must be one value, got %s", shape(n))
	}
	return n.Value
}

func (r *reader) toggle(n *yaml.Node, name string) bool {
	if n == nil || n.Tag == "!!null" {
		return false
	}
	var on bool
	if n.Kind != yaml.ScalarNode || n.Decode(&on) != nil {
		r.fail(n, "%s must be true or false, got %s", name, quoted(n.Value))
	}
	return on
}

func (r *reader) number(n *yaml.Node, name string) uint32 {
	if n == nil || n.Tag == "!!null" {
		return 0
	}
	value, err := strconv.ParseUint(strings.ReplaceAll(n.Value, "_", ""), 10, 32)
	if n.Kind != yaml.ScalarNode || err != nil {
		r.fail(n, "%s must be an integer between 0 and %d, got %s", name, uint32(math.MaxUint32), quoted(n.Value))
	}
	return uint32(value)
}

// shape names the kind of a node for an error.
func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "names and values"
	case yaml.SequenceNode:
		return "a list"
	}
	return quoted(n.Value)
}

func quoted(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strconv.Quote(text)
}
