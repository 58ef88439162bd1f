package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/topkeys"
)

// answer makes a handler that replies with the result of a function, in JSON.
func (a *Admin) answer(f func(context.Context, *server.Server, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
		defer cancel()
		result, err := f(ctx, a.about.Load(), r)
		switch {
		case errors.Is(err, errUser), errors.As(err, new(server.ErrReply)):
			fail(w, http.StatusBadRequest, err.Error())
		case errors.Is(err, errTooLarge):
			fail(w, http.StatusRequestEntityTooLarge, err.Error())
		case errors.Is(err, errNotJSON):
			fail(w, http.StatusUnsupportedMediaType, err.Error())
		case err != nil:
			fail(w, http.StatusBadGateway, err.Error())
		default:
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_ = json.NewEncoder(w).Encode(result)
		}
	}
}

// fail replies with an error.
func fail(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": reason})
}

type userError struct{ text string }

func (e userError) Error() string { return e.text }

func (e userError) Unwrap() error { return errUser }

const starting = "starting: state is being recovered"

// errUser is wrapped by errors that are the fault of the request.
var errUser = errors.New("bad request")

// The errors of a body that is not read.
var (
	errTooLarge = fmt.Errorf("the body may have at most %d bytes, or %d with policies of a file", maxBodyBytes, maxFileBytes)
	errNotJSON  = errors.New("the body must be of the type application/json")
)

// readJSON reads the body of a request. It requires the content type of JSON, because a browser asks before it sends
// that to another site, unlike a form.
func readJSON(r *http.Request, into any, has string) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errNotJSON
	}
	in := json.NewDecoder(r.Body)
	in.DisallowUnknownFields()
	err := in.Decode(into)
	if err == nil {
		_, err = in.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("there is more text after it")
		}
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return errTooLarge
	}
	return userError{"the request must be JSON with " + has + ", and nothing else: " + err.Error()}
}

// ownShare is the part of a key's own requests that was denied.
type ownShare struct {
	Part     float64 `json:"part"`     // 0 to 1
	Error    float64 `json:"error"`    // the largest error of Part; 0 if every request was counted
	Requests int64   `json:"requests"` // the requests that were counted
	WithinMs int64   `json:"withinMs"` // how long ago counting began
}

func ownShareOf(e topkeys.Entry, now int64) *ownShare {
	if e.Own.Denied == 0 {
		return nil
	}
	return &ownShare{e.Own.Part(), e.Own.Error, e.Own.Denied + e.Own.Passed, command.Millis(now - e.Own.Since)}
}
