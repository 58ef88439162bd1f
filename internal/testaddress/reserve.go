// Package testaddress reserves addresses of the loopback interface, for servers whose address must be known before they
// listen: the peers of a cluster, a server that is started again where it was, programs that cannot say which port they
// were given. A server that can say so should listen on port 0 instead.
package testaddress
