// Package acl knows who may do what: users, their passwords, the commands and keys they are allowed, and how much.
//
// Users are written as in Redis's ACL files and ACL SETUSER: "on >password +@read ~tenant7:*". What one command may need
// is asked of a [User] by the number of its row and by key; both answers come from tables made when the user is set.
// A user is changed by putting other rights in its place, so a check takes no lock, and connections that have logged in
// see the change at their next command.
package acl
