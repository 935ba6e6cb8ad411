//go:build !portable

package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// Sample reads TCP_INFO. A thread other than the hot ones calls it once in each interval.
func (s *Socket) Sample() (TCPSample, bool) {
	info, err := unix.GetsockoptTCPInfo(int(s.fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return TCPSample{}, false
	}
	return TCPSample{Retransmits: int64(info.Total_retrans), Window: int64(info.Snd_cwnd) * int64(info.Snd_mss),
		Smoothed: time.Duration(info.Rtt) * time.Microsecond}, true
}
