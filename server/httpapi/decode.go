package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/stintdb/stint/server/gateway"
)

// readBody reads the body of a POST.
func (r *request) readBody() *badRequest {
	if bad := checkHeader(r.Header); bad != nil {
		if bad.status == http.StatusUnsupportedMediaType {
			r.w.Header()["Accept-Encoding"] = identity
		}
		return bad
	}
	err := r.read()
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge
	case err != nil:
		return &badRequest{http.StatusRequestTimeout, "the body did not arrive within --command-timeout"}
	case !utf8.Valid(r.body):
		return badJSON("it is not UTF-8")
	}
	return nil
}

var identity = []string{"identity"}

// read reads the body, in one piece if the client has told its length.
func (r *request) read() (err error) {
	switch {
	case r.ContentLength > maxBodyBytes:
		return &http.MaxBytesError{Limit: maxBodyBytes}
	case r.ContentLength >= 0:
		r.body = slices.Grow(r.body, int(r.ContentLength))[:r.ContentLength]
		_, err = io.ReadFull(r.Body, r.body)
	default:
		r.body, err = io.ReadAll(http.MaxBytesReader(r.w.ResponseWriter, r.Body, maxBodyBytes))
	}
	return err
}

var tooLarge = &badRequest{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body may have at most %d bytes", maxBodyBytes)}

func badJSON(why string) *badRequest {
	return &badRequest{http.StatusBadRequest, "the body is not the JSON that this path takes: " + why}
}

// kind is the kind of a JSON value.
type kind uint8

const (
	null kind = iota
	scalar
	array
	object
)

// value is a JSON value. Of an array, items are its elements, and of an object its fields.
type value struct {
	kind  kind
	name  string // of a field
	text  string // of a scalar: a string as it is, a number or a truth value as it was written
	items []value
}

func (v *value) has(name string) bool { return v.get(name) != nil }

// get returns the value of a field, nil if there is none.
func (v *value) get(name string) *value {
	if i := v.find(name); i >= 0 {
		return &v.items[i]
	}
	return nil
}

// find returns the position of a field, -1 if there is none. The items of an array have no names.
func (v *value) find(name string) int {
	if v.kind != object {
		return -1
	}
	for i := range v.items {
		if v.items[i].name == name {
			return i
		}
	}
	return -1
}

// clip bounds text from a request in an error.
func clip(text string) string { return text[:min(len(text), 64)] }

// request is one, and its answer.
type request struct {
	*http.Request
	w      counted
	caller gateway.Caller // once it was let in
	body   []byte         // of a POST
	json   value          // the body
	bad    *badRequest    // of a body that is not JSON
	fields fields         // of json
}

// reset makes a request like a new one. It keeps only room.
func (r *request) reset() {
	room := r.body[:0]
	if cap(room) > maxKeptBody {
		room = nil
	}
	clear(room[:cap(room)])
	*r = request{body: room}
}

// requests are requests that were answered, to be used again.
var requests = sync.Pool{New: func() any { return new(request) }}

// maxKeptBody bounds the room for a body that a request keeps for the next.
const maxKeptBody = 4 << 10
