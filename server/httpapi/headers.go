package httpapi

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// refusedFields are the fields of a header that would change the meaning of a POST, and are not supported, each with
// the way out. Fields that are not here, and that nothing reads, change no request: those of caches, and those that
// proxies and browsers add.
var refusedFields = map[string]string{
	"Content-Range":          "send the whole body",
	"Idempotency-Key":        "give as and for in the body instead; a repeated request then takes nothing",
	"If-Match":               conditional,
	"If-Modified-Since":      conditional,
	"If-None-Match":          conditional,
	"If-Range":               conditional,
	"If-Unmodified-Since":    conditional,
	"X-Http-Method":          "send the method itself",
	"X-Http-Method-Override": "send the method itself",
	"X-Method-Override":      "send the method itself",
}

const conditional = "leave it out: there are no versions here"

var refusedNames = slices.Sorted(maps.Keys(refusedFields))

// checkHeader refuses a POST whose header asks for more than is supported. Only JSON as it is is taken: a web page
// could have a browser send other types without asking.
func checkHeader(h http.Header) *badRequest {
	if coding := strings.Join(h["Content-Encoding"], ", "); coding != "" && !strings.EqualFold(coding, "identity") {
		return &badRequest{http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Encoding: the body must be sent as it is, without %q", clip(coding))}
	}
	if types := h["Content-Type"]; len(types) != 1 || types[0] != typeJSON && !isJSON(types[0]) {
		return &badRequest{http.StatusUnsupportedMediaType, "Content-Type must be application/json, once, in UTF-8: curl sends it with --json, or -H 'Content-Type: application/json'"}
	}
	for _, name := range refusedNames {
		if h[name] != nil {
			return &badRequest{http.StatusBadRequest, fmt.Sprintf("%s is not supported: %s", name, refusedFields[name])}
		}
	}
	if codings := h["Upstash-Encoding"]; len(codings) > 1 || len(codings) == 1 && !strings.EqualFold(codings[0], "base64") {
		return &badRequest{http.StatusBadRequest, fmt.Sprintf("Upstash-Encoding: must be base64, once, got %q", clip(strings.Join(codings, ", ")))}
	}
	return nil
}

// isJSON reports whether a Content-Type is JSON in UTF-8.
func isJSON(contentType string) bool {
	kind, parameters, err := mime.ParseMediaType(contentType)
	charset, named := parameters["charset"]
	return err == nil && kind == typeJSON && (!named || strings.EqualFold(charset, "utf-8"))
}

// checkTarget refuses parameters and bodies of a path that takes none. A request at authPath has other parameters, and
// the body of the request that a proxy asks about.
func checkTarget(path string, r *http.Request) *badRequest {
	switch {
	case path == authPath:
	case r.URL.RawQuery != "" || r.URL.ForceQuery:
		return &badRequest{http.StatusBadRequest, fmt.Sprintf("this path takes no parameters, got %q", clip(r.URL.RawQuery))}
	case r.Method != http.MethodPost && r.ContentLength != 0:
		return &badRequest{http.StatusBadRequest, "this path takes no body"}
	}
	return nil
}

const authPath = "/v1/auth"

func sendText(w http.ResponseWriter, status int, text string) {
	send(w, status, "text/plain; charset=utf-8", []byte(text))
}

var noSniff, noStore = []string{"nosniff"}, []string{"no-store"}
