// Package request carries out requests for several limits: all of them grant, or none gives a token. Such a request
// names its limits itself, or a policy that has them. A reservation is a request with an id, which is answered alike
// when it comes again, and settled by what was used.
package request
