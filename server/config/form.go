package config

import (
	"fmt"
	"net/url"
	"strings"
)

// form says what a text, or each item of a list, must look like.
type form struct {
	kind    string // the type of the setting
	allowed string
	accepts func(text string) bool
}

const (
	typePatterns    = "patterns"
	maxPatterns     = 16
	maxPatternBytes = 256
)

// The forms of texts.
var (
	addressForm    = form{"address", allowedHostPort + ", or empty for off", func(text string) bool { return text == "" || isHostPort(text) }}
	peerForm       = form{"address", allowedPeer + ", or empty for the default", func(text string) bool { return text == "" || isPeer(text) }}
	controlForm    = form{"address", allowedPeer + ", or empty for off", func(text string) bool { return text == "" || isPeer(text) }}
	pathForm       = form{"path", "a path without control characters", printable}
	webhookForm    = form{"url", "a URL that begins with http:// or https://, of at most 2048 bytes, or empty for none", isWebhook}
	delimitersForm = form{"characters", "at most 16 printable ASCII characters without spaces and quotes, or empty", isDelimiters}
	nodeNameForm   = form{"word", fmt.Sprintf("1 to %d letters, digits and _ . -, beginning with a letter or digit, or empty for none", MaxNodeIDBytes), isName}
)

// The forms of items of lists.
var (
	peersForm    = form{typeAddresses, fmt.Sprintf("%s; at most %d of them, separated by commas", allowedPeer, MaxPeers), isPeer}
	nodesForm    = form{typeAddresses, fmt.Sprintf("%s; at most %d of them, separated by commas", allowedPeers, MaxPeers), func(text string) bool { return isPeer(text) || isPeerName(text) }}
	patternsForm = form{typePatterns, fmt.Sprintf("patterns of at most %d printable characters, such as global:*, separated by commas; at most %d", maxPatternBytes, maxPatterns), isPattern}
)

func namesForm(example string) form {
	return form{typePatterns, fmt.Sprintf("names of at most %d printable characters, such as %s, separated by commas; at most %d", maxPatternBytes, example, maxPatterns), isPattern}
}

func isDelimiters(text string) bool {
	return len(text) <= 16 && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\'' || c == '\\' })
}

func isWebhook(text string) bool {
	if text == "" {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && len(text) <= 2048 && printable(text) && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func isPattern(text string) bool {
	return text != "" && len(text) <= maxPatternBytes && printable(text)
}

// textValue is a text with a form.
type textValue struct {
	field *string
	form
}

func (v *textValue) String() string  { return *v.field }
func (v *textValue) Type() string    { return v.kind }
func (v *textValue) Allowed() string { return v.allowed }

func (v *textValue) Set(text string) error {
	if !v.accepts(text) {
		return must(v.allowed)
	}
	*v.field = text
	return nil
}

// listValue is a list of texts with a form, separated by commas in its text form.
type listValue struct {
	field *[]string
	form
	most int
}

func (v *listValue) String() string  { return strings.Join(*v.field, ",") }
func (v *listValue) Type() string    { return v.kind }
func (v *listValue) Allowed() string { return v.allowed }

func (v *listValue) Set(text string) error {
	var items []string
	if text != "" {
		items = strings.Split(text, ",")
	}
	for i, item := range items {
		if v.kind == typeAddresses {
			items[i] = strings.Trim(item, " ")
		}
		if !v.accepts(items[i]) {
			return must(v.allowed)
		}
	}
	if len(items) > v.most {
		return must(v.allowed)
	}
	*v.field = items
	return nil
}
