# The flags with which scripts/dist.sh builds what users get. Vet, lint and tests use them too (with ".
# scripts/goflags.sh"), so that each package is compiled once for each system. Only the race detector needs
# CGO_ENABLED=1, and its own build.
export CGO_ENABLED=0 GOFLAGS=-trimpath
