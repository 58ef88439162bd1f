// Package traffic makes up requests and has the engine decide them in simulated time. Nothing in it depends on a clock
// or on chance, so a command and a load always have the same outcome.
package traffic
