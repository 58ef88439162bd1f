package bytetext

import (
	"encoding/json"
	"testing"
)

// Different bytes give different JSON, and bytes that are UTF-8 stay as they are.
func TestBytes(t *testing.T) {
	for in, want := range map[string][2]string{
		"":           {`{"key":""}`, ``},
		"user:7":     {`{"key":"user:7"}`, `user:7`},
		"a\n\u00e9":  {`{"key":"a\né"}`, "a\n\u00e9"},
		"\ufffdk":    {"{\"key\":\"\ufffdk\"}", "\ufffdk"},
		"\xff\xfek":  {`{"key_base64":"//5r"}`, `"\xff\xfek"`},
		"\xfe\xffk":  {`{"key_base64":"/v9r"}`, `"\xfe\xffk"`},
		"\xff\\\"\n": {`{"key_base64":"/1wiCg=="}`, `"\xff\\\"\n"`},
	} {
		var body struct {
			Key    *string `json:"key,omitempty"`
			Base64 []byte  `json:"key_base64,omitempty"`
		}
		body.Key, body.Base64 = JSON([]byte(in))
		if text, err := json.Marshal(body); string(text) != want[0] || Shown(in) != want[1] || err != nil {
			t.Errorf("%q: %s, %s, %v", in, text, Shown(in), err)
		}
	}
}
