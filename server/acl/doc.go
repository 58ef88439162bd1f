// Package acl has the users, their passwords, the commands and keys they may use, and their caps.
//
// Users are written as in Redis's ACL files and ACL SETUSER: "on >password +@read ~tenant7:*". A [User] is asked
// for a command by the number of its row, and for keys; both answers come from tables made when the user is set.
// A user is changed by putting other rights in its place, so a check takes no lock, and connections that have logged in
// see the change at their next command.
package acl
