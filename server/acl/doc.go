// Package acl has the users, their passwords, the commands and keys they may use, and their caps.
//
// Users are written as in Redis's ACL files and ACL SETUSER: "on >password +@read ~tenant7:*". A [User] answers whether
// it may use a command or a key from tables that are made when the user is set. Changing a user replaces its rights as
// a whole, so a check takes no lock, and connections that are logged in see the change at their next command.
package acl
