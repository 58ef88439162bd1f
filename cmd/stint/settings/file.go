package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/server/config"
)

// ByteOrderMark is what some editors, most of them on Windows, begin a file of UTF-8 with. It is no part of the text.
const ByteOrderMark = "\ufeff"

// readConfigFile reads the settings in a TOML file, in the order of their lines.
func readConfigFile(name string, readFile func(string) ([]byte, error)) ([]assignment, error) {
	text, err := readFile(name)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration file '%s' cannot be read: %w", name, err)
	}
	text = bytes.TrimPrefix(text, []byte(ByteOrderMark))
	values := map[string]any{}
	if err := toml.Unmarshal(text, &values); err != nil {
		return nil, syntaxError(name, err)
	}
	lines := linesOfKeys(text)
	var found []assignment
	for _, key := range keysByLine(values, lines) {
		at := fmt.Sprintf("%s line %d", name, lines[key])
		setting, err := settingOfKey(key, values[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		value, err := textOf(setting, values[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		found = append(found, assignment{setting, value, at + ": " + setting.Name})
	}
	return found, nil
}

// linesOfKeys returns the line of every key at the top level. The library reports positions only of keys without a
// field, so it gets a struct without fields.
func linesOfKeys(text []byte) map[string]int {
	lines := map[string]int{}
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&struct{}{})
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		for _, one := range slices.Backward(missing.Errors) {
			lines[one.Key()[0]], _ = one.Position()
		}
	}
	return lines
}

func keysByLine(values map[string]any, lines map[string]int) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(lines[a], lines[b]), cmp.Compare(a, b))
	})
}

func syntaxError(name string, err error) error {
	sentence := strings.TrimPrefix(err.Error(), "toml: ")
	line := 0
	if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ = syntax.Position()
	}
	return fmt.Errorf("%s line %d: %s; a line is a name, = and a number or a text in quotes, such as max-memory = \"128mb\"",
		name, line, sentence)
}

func settingOfKey(key string, value any) (*config.Setting, error) {
	setting, known := config.Lookup(key)
	switch {
	case isTable(value):
		return nil, fmt.Errorf("there are no sections here, got %s: write every setting at the top level as name = value", strconv.Quote(key))
	case known && setting.Name == key && setting.InFile():
		return setting, nil
	case known && !setting.InFile():
		return nil, fmt.Errorf("%s can only be a flag or an environment variable, because a configuration file cannot name another one", key)
	}
	return nil, fmt.Errorf("unknown setting %s%s", strconv.Quote(key),
		cli.DidYouMean(config.Suggest(key), "; 'stint server --help-all' lists them, with dashes that the file leaves out"))
}

func isTable(value any) bool {
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	_, ok := value.(map[string]any)
	return ok
}

// textOf turns a TOML value into the text form that settings read. The setting checks it.
func textOf(setting *config.Setting, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		if !setting.IsList() {
			return "", fmt.Errorf("%s takes a single value, got a list", setting.Name)
		}
		items := make([]string, len(v))
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				return "", fmt.Errorf("%s takes a list of texts in quotes, got %v", setting.Name, item)
			}
			items[i] = text
		}
		return strings.Join(items, ","), nil
	}
	return fmt.Sprint(value), nil
}
