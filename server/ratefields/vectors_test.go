package ratefields

import (
	"encoding/json"
	"maps"
	"os"
	"testing"
	"time"
)

// The clients play the same vectors.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../clients/vectors/fields.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Styles string
			Now          int64 `json:"now_ms"`
			Limit        struct {
				Name             string
				Quota, Remaining int64
				Window           int64 `json:"window_ms"`
				More             int64 `json:"more_ms"`
				Reset            int64 `json:"reset_ms"`
				Warns            bool
			}
			Fields map[string]string
		}
		Refused []string
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		styles, ok := Parse(c.Styles)
		if !ok {
			t.Errorf("%s: %s is refused", c.Name, c.Styles)
		}
		l, got := c.Limit, map[string]string{}
		styles.Write([]Limit{{Escape(l.Name), l.Quota, l.Remaining, Seconds(l.Window), Seconds(l.More), Seconds(l.Reset), l.Warns, false}}, time.UnixMilli(c.Now),
			func(field, value string) { got[field] = value })
		if !maps.Equal(got, c.Fields) {
			t.Errorf("%s: %v, want %v", c.Name, got, c.Fields)
		}
	}
	for _, styles := range file.Refused {
		if _, ok := Parse(styles); ok {
			t.Errorf("%q is taken", styles)
		}
	}
}
