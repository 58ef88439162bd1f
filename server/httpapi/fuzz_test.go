package httpapi

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzDecode compares the parser with encoding/json, which takes all that it takes and reads the same strings. Both
// keep numbers as text: no number of valid JSON is too large.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"a":["b",1,null,true],"c":{"d":"\u00e4\n"}}`, `[-0.5e3]`, `"\ud800"`, "[\"\x01\"]", `{"a":1,"a":2}`, ` [ ] `, `01`, `1e999`, `{"a":}`, `"\q"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !utf8.Valid(body) {
			return // answered before
		}
		got, bad := decode(body)
		if bad == nil && !json.Valid(body) {
			t.Fatalf("%q is taken, which is no JSON", body)
		}
		var want any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil && bad == nil {
			t.Fatalf("%q is taken, encoding/json: %v", body, err)
		}
		if list, is := want.([]any); is && bad == nil {
			if len(list) != len(got.items) {
				t.Fatalf("%q: %d elements, not %d", body, len(got.items), len(list))
			}
			for i, item := range list {
				if text, is := item.(string); is && text != got.items[i].text {
					t.Fatalf("%q: %q, not %q", body, got.items[i].text, text)
				}
			}
		}
	})
}
