// Package installed tests the files of a release as their users have them: installed by dpkg under systemd, run by
// Docker, unpacked.
//
//	.ci/run release # builds dist/ and runs these tests, by night
//
// They need root, dist/, and a Debian system that debootstrap has made: tests with the build tag installed.
package installed
