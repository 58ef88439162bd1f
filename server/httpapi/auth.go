package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
)

// auth answers /v1/auth for proxies that ask before they forward a request: RL.CHECK with the parameters in the query,
// and without a body. A proxy that appends the path of the request that it asks about has the query as a segment of the
// path: /v1/auth/policy=api&id-header=x-api-key/original/path. Any method is taken, since some proxies use that of the
// request.
func (s *Service) auth(r *request) {
	words, name, denied, err := authWords(r.Request)
	if err != nil {
		err.send(&r.w)
		return
	}
	reply, ok := s.do(r, &words)
	if !ok {
		if reply.Type == redcon.Error {
			s.gateway.WarnOfFailure(authPath+" with the policy "+name, errors.New(reply.String()))
		}
		return
	}
	d := readDecision(reply)
	d.leases = s.leasesOfPolicy(&words)
	s.setFields(r.w.Header(), name, &d)
	h := r.w.Header()
	h["Content-Length"] = zeroLength
	if d.Allowed {
		r.w.WriteHeader(http.StatusOK)
		return
	}
	r.w.WriteHeader(denied)
}

var zeroLength = []string{"0"}

// parameters are the parameters of /v1/auth, besides with.FIELD and with-header.FIELD.
var parameters = []string{"policy", "id", "id-header", "tokens", "keep", "deny"}

func authWords(r *http.Request) (words command.Words, name string, denied int, bad *badRequest) {
	query, err := authQuery(r)
	if err != nil {
		return words, "", 0, &badRequest{http.StatusBadRequest, err.Error()}
	}
	denied = http.StatusTooManyRequests
	if query.Has("deny") {
		text := query.Get("deny")
		if denied, err = strconv.Atoi(text); err != nil || denied < 400 || denied > 599 {
			return words, "", 0, &badRequest{http.StatusBadRequest, fmt.Sprintf("deny: must be a status between 400 and 599, got %q", clip(text))}
		}
	}
	if name = query.Get("policy"); name == "" {
		return words, "", 0, &badRequest{http.StatusBadRequest, "policy: is missing"}
	}
	id, bad := oneOf(r, query, "id", "id-header", denied)
	if bad != nil {
		return words, "", 0, bad
	}
	words = command.NewWords("RL.CHECK", name, id)
	if query.Has("tokens") {
		words.Number("tokens", query.Get("tokens"))
	}
	if query.Has("keep") {
		words.Amount("KEEP", query.Get("keep"))
	}
	words.Option("WARN")
	if bad = addFields(&words, r, query, denied); bad == nil && words.Err() != nil {
		bad = &badRequest{http.StatusBadRequest, words.Err().Error()}
	}
	return words, name, denied, bad
}

// addFields appends the fields of a policy's keys, in the order of their names.
func addFields(words *command.Words, r *http.Request, query url.Values, denied int) *badRequest {
	for _, field := range sortedFields(query) {
		value, bad := oneOf(r, query, "with."+field, "with-header."+field, denied)
		if bad != nil {
			return bad
		}
		words.With(field, value)
	}
	return nil
}

// authQuery returns the parameters, each once.
func authQuery(r *http.Request) (url.Values, error) {
	raw := r.URL.RawQuery
	if rest, is := strings.CutPrefix(r.URL.EscapedPath(), authPath+"/"); is {
		segment, _, _ := strings.Cut(rest, "/")
		raw = segment
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("the query cannot be read: %w", err)
	}
	if len(query) > maxNames {
		return nil, fmt.Errorf("at most %d parameters, got %d", maxNames, len(query))
	}
	for name, values := range query {
		if _, isField := cutField(name); !isField && !slices.Contains(parameters, name) {
			return nil, fmt.Errorf("%q is not a parameter of this path; it takes %s, with.FIELD and with-header.FIELD", clip(name), strings.Join(parameters, ", "))
		}
		if len(values) > 1 {
			return nil, fmt.Errorf("%q is there %d times", clip(name), len(values))
		}
		if values[0] == "" {
			return nil, fmt.Errorf("%s: %s", clip(name), mustNotBeEmpty)
		}
	}
	return query, nil
}

// oneOf returns a value that the query has, or names the header of. A request without the header is denied, and so is
// one that has it twice: its sender must not choose which counts.
func oneOf(r *http.Request, query url.Values, name, header string, denied int) (string, *badRequest) {
	if query.Has(name) == query.Has(header) {
		return "", &badRequest{http.StatusBadRequest, fmt.Sprintf("give either %s or %s", name, header)}
	}
	if query.Has(name) {
		return query.Get(name), nil
	}
	field := query.Get(header)
	values := r.Header.Values(field)
	if http.CanonicalHeaderKey(field) == "Host" { // which net/http keeps apart, and takes once only
		values = []string{r.Host}
	}
	if len(values) != 1 || values[0] == "" {
		return "", &badRequest{denied, fmt.Sprintf("the request must have one header %q with a value, got %d", clip(field), len(values))}
	}
	return values[0], nil
}
