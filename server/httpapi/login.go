package httpapi

import (
	"errors"
	"net/http"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/resp"
)

// login finds the user of a request.
func login(c *gateway.Conn, r *http.Request) (user *acl.User, byPassword bool, err error) {
	fields := r.Header["Authorization"]
	user, err = c.Authorize(r.Context(), fields)
	return user, err == nil && len(fields) > 0 && !user.NeedsNoPassword(), err
}

// failedLogin is the answer to a request without a user.
func failedLogin(err error) (status int, detail string) {
	switch {
	case errors.Is(err, gateway.ErrAuthorization), errors.Is(err, gateway.ErrWrongLogin):
		return http.StatusUnauthorized, err.Error()
	case errors.Is(err, command.ErrNoAuth):
		return http.StatusUnauthorized, "send a password: Authorization: Bearer PASSWORD, or Bearer USER:PASSWORD"
	}
	return http.StatusTooManyRequests, resp.WithoutCode(err) // too many failed logins, or the client has gone
}
