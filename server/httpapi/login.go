package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/resp"
)

var errAuthorization = errors.New("Authorization must be: Bearer PASSWORD, or Bearer USER:PASSWORD")

// login finds the user of a request: by Bearer with USER:PASSWORD, or with a password of the default user, which has a colon in
// front if there is one in it; without the field the default user, if that needs no password.
func login(c *gateway.Conn, r *http.Request) (user *acl.User, byPassword bool, err error) {
	fields := r.Header["Authorization"]
	if len(fields) == 0 {
		user, err = c.DefaultUser()
		return user, false, err
	}
	scheme, token, _ := strings.Cut(fields[0], " ")
	if len(fields) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, false, errAuthorization
	}
	name, password, hasName := strings.Cut(token, ":")
	if !hasName {
		name, password = "", token
	}
	user, err = c.Login(r.Context(), name, password)
	return user, err == nil && !user.NeedsNoPassword(), err
}

// failedLogin is the answer to a request without a user.
func failedLogin(err error) (status int, detail string) {
	switch {
	case errors.Is(err, errAuthorization):
		return http.StatusUnauthorized, err.Error()
	case errors.Is(err, gateway.ErrWrongLogin):
		return http.StatusUnauthorized, "the password is wrong, the user does not exist, or it is off"
	case errors.Is(err, command.ErrNoAuth):
		return http.StatusUnauthorized, "send a password: Authorization: Bearer PASSWORD, or Bearer USER:PASSWORD"
	}
	return http.StatusTooManyRequests, resp.WithoutCode(err) // too many failed logins, or the client has gone
}
