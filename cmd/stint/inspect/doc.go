// Package inspect is the command stint inspect: it describes and checks the files in which servers and nodes keep their
// state.
package inspect
