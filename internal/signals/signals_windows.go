package signals

// ofUnix are the signals that Windows does not have. Go makes SIGINT of Ctrl-C there, and SIGTERM of the end of the
// console, the session or the system.
var ofUnix []Row
