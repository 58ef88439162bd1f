// Package policyset compares the policies of a server with the policies that it should have, such as those of a file,
// and makes the changes between the two: all of them, or none.
package policyset
