package envoy

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/resp"
)

// login finds the user of a request by the metadata authorization. Errors are gRPC's.
func login(ctx context.Context, c *gateway.Conn) (*acl.User, error) {
	user, err := c.Authorize(ctx, metadata.ValueFromIncomingContext(ctx, "authorization"))
	switch {
	case err == nil:
		return user, nil
	case errors.Is(err, gateway.ErrAuthorization), errors.Is(err, gateway.ErrWrongLogin):
		return nil, status.Error(codes.Unauthenticated, err.Error())
	case errors.Is(err, command.ErrNoAuth):
		return nil, status.Error(codes.Unauthenticated, "send a password in the metadata: authorization: Bearer PASSWORD, or Bearer USER:PASSWORD")
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return nil, status.Error(codes.ResourceExhausted, resp.WithoutCode(err)) // too many failed logins
}

// codeOfReply has gRPC's codes for the codes of error replies. All other errors are about the server's state and may
// pass.
var codeOfReply = map[string]codes.Code{
	wordOf(command.ErrNoAuth):      codes.Unauthenticated,
	wordOf(command.ErrNoKeyAccess): codes.PermissionDenied,
	wordOf(command.ErrNoCommand):   codes.InvalidArgument,
	wordOf(command.ErrDataType):    codes.FailedPrecondition,
}

// wordOf returns the code of an error reply, which is its first word.
func wordOf(err error) string {
	word, _, _ := strings.Cut(err.Error(), " ")
	return word
}

// errorOf turns an error reply into gRPC's error.
func errorOf(reply error) error {
	code, known := codeOfReply[wordOf(reply)]
	if !known {
		code = codes.Unavailable
	}
	return status.Error(code, reply.Error())
}
