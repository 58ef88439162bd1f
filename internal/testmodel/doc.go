// Package testmodel predicts every reply of a Stint server, to the byte. It is an independent model of every limiter
// command, written from the handbook (docs/commands.md, docs/rate-limits.md, docs/algorithms.md) and sharing no code
// with the engine. Tokens of meters and of the sliding counter are fractions of package math/big; everything else is
// counted in whole numbers. It also makes the random calls that tests send to a server and to the model.
package testmodel
