package envoy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/stintdb/stint/server/gateway"
)

// connections passes the gateway's connection of a request to its handler. TLS is done by the listeners.
type connections struct{}

// connInfo is what gRPC stores about a connection.
type connInfo struct {
	credentials.CommonAuthInfo
	conn *gateway.Conn
}

// AuthType implements [credentials.AuthInfo].
func (connInfo) AuthType() string { return "stint" }

// ServerHandshake implements [credentials.TransportCredentials].
func (connections) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	info := connInfo{conn: gateway.ConnOf(c)}
	if secure, is := c.(*tls.Conn); is {
		if err := secure.Handshake(); err != nil { // gRPC has set a deadline
			return nil, nil, err
		}
		info.SecurityLevel = credentials.PrivacyAndIntegrity
	}
	return c, info, nil
}

// ClientHandshake implements [credentials.TransportCredentials].
func (connections) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("envoy: these are for servers")
}

// Info implements [credentials.TransportCredentials].
func (connections) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "stint"}
}

// Clone implements [credentials.TransportCredentials].
func (c connections) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements [credentials.TransportCredentials].
func (connections) OverrideServerName(string) error { return nil }

// connOf returns the connection of a request.
func connOf(ctx context.Context) *gateway.Conn {
	p, _ := peer.FromContext(ctx)
	return p.AuthInfo.(connInfo).conn
}
