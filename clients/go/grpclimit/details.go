package grpclimit

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
)

// withDetails adds details to a status.
func withDetails(s *status.Status, retry *errdetails.RetryInfo, more ...protoadapt.MessageV1) error {
	if retry != nil {
		more = append(more, retry)
	}
	if detailed, err := s.WithDetails(more...); err == nil {
		return detailed.Err()
	}
	return s.Err()
}
