// fortio, which tests run. It is a module of its own, because its dependencies would raise the versions of nearfar's.
// scripts/go-programs.sh builds it.
module nearfar/internal/kits/fortio

go 1.26.6

tool fortio.org/fortio

require (
	fortio.org/cli v1.5.2 // indirect
	fortio.org/dflag v1.7.1 // indirect
	fortio.org/fortio v1.63.7 // indirect
	fortio.org/log v1.12.2 // indirect
	fortio.org/scli v1.14.2 // indirect
	fortio.org/sets v1.0.4 // indirect
	fortio.org/struct2env v0.4.0 // indirect
	fortio.org/version v1.0.4 // indirect
	github.com/fsnotify/fsnotify v1.7.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/exp v0.0.0-20240325151524-a685a6edb6d8 // indirect
	golang.org/x/net v0.23.0 // indirect
	golang.org/x/sys v0.18.0 // indirect
	golang.org/x/text v0.14.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240401170217-c3f982113cda // indirect
	google.golang.org/grpc v1.63.0 // indirect
	google.golang.org/protobuf v1.33.0 // indirect
)
