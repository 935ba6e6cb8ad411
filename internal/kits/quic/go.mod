// The example programs of quic-go, which tests run as programs of a user's own. It is a module of its own, because its
// dependencies would raise the versions of nearfar's. scripts/go-programs.sh builds them.
module nearfar/internal/kits/quic

go 1.26.6

tool (
	github.com/quic-go/quic-go/example
	github.com/quic-go/quic-go/example/client
)

require (
	github.com/quic-go/qpack v0.6.0 // indirect
	github.com/quic-go/quic-go v0.65.0 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)
