//go:build !linux

package inside

import (
	"errors"

	declared "nearfar/internal/declare/inside"
)

// A Watch watches the trips of one trial.
type Watch struct{}

// Begin says that this system cannot be watched.
func Begin(declared.Options) (*Watch, error) {
	return nil, errors.New("only Linux can be watched inside")
}

// OwnNamespace says that this system has no network namespaces.
func OwnNamespace() (uint32, error) { return 0, errors.New("only Linux has network namespaces") }

// End has nothing to say.
func (*Watch) End() (*declared.Recording, error) { return nil, errors.New("nothing was watched") }

// Close does nothing.
func (*Watch) Close() {}
