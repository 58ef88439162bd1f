package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"
)

// readBody reads the body of a POST. Only a request in JSON is taken: other types a web page could have a browser send without asking.
func (r *request) readBody() *badRequest {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != typeJSON {
		return &badRequest{http.StatusUnsupportedMediaType, "Content-Type must be application/json"}
	}
	if r.ContentLength > maxBodyBytes {
		return tooLarge
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := body.ReadFrom(http.MaxBytesReader(r.w, r.Body, maxBodyBytes))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge
	case err != nil:
		return &badRequest{http.StatusRequestTimeout, "the body did not arrive within --command-timeout"}
	case !utf8.Valid(body.Bytes()):
		return badJSON("it is not UTF-8")
	}
	r.body = body.Bytes()
	return nil
}

var tooLarge = &badRequest{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body may have at most %d bytes", maxBodyBytes)}

func badJSON(why string) *badRequest {
	return &badRequest{http.StatusBadRequest, "the body is not the JSON that this path takes: " + why}
}

// kind is that of a JSON value.
type kind uint8

const (
	null kind = iota
	scalar
	array
	object
)

// value is a JSON value. Of an array, items are its elements, and of an object its values; names are those of an object.
type value struct {
	kind  kind
	text  string // of a scalar: a string as it is, a number or a truth value as it was written
	items []value
	names []string
}

// maxDepth is the deepest nesting that any request here has.
const maxDepth = 4

// decode reads one JSON value. An object must not have a name twice, because readers differ on which value counts.
func decode(body []byte) (value, *badRequest) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the value")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		return value{}, badJSON(err.Error())
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (v value, err error) {
	token, err := d.Token()
	if err != nil {
		return v, err
	}
	switch t := token.(type) {
	case nil:
		return value{}, nil
	case string:
		return value{kind: scalar, text: t}, nil
	case json.Number:
		return value{kind: scalar, text: t.String()}, nil
	case bool:
		return value{kind: scalar, text: fmt.Sprint(t)}, nil
	}
	if depth == maxDepth {
		return v, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	v.kind = array
	if token == json.Delim('{') {
		v.kind = object
	}
	for d.More() {
		if v.kind == object {
			name, err := d.Token()
			if err != nil {
				return v, err
			}
			if v.has(name.(string)) {
				return v, fmt.Errorf("%q is there twice", clip(name.(string)))
			}
			v.names = append(v.names, name.(string))
		}
		item, err := decodeValue(d, depth+1)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
		if v.kind == object && len(v.items) > maxNames {
			return v, fmt.Errorf("an object may have at most %d fields", maxNames)
		}
	}
	_, err = d.Token() // the end
	return v, err
}

// maxNames bounds the fields of an object: each is compared with those before it.
const maxNames = 64

func (v *value) has(name string) bool { return v.get(name) != nil }

// get returns the value of a field, nil if there is none.
func (v *value) get(name string) *value {
	for i, n := range v.names {
		if n == name {
			return &v.items[i]
		}
	}
	return nil
}

// clip bounds text from a request in an error.
func clip(text string) string { return text[:min(len(text), 64)] }
