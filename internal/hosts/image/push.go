package image

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// errPlain is the reason why a request was not sent.
var errPlain = errors.New("the registry was to be asked without encryption")

// Push sends the image to the registry of the tag, with the credentials that `docker login` or `podman login` has
// written. insecure allows a registry that answers without encryption; loopback addresses need no permission.
func (i *Image) Push(ctx context.Context, tag name.Tag, version string, insecure bool) error {
	t := remote.DefaultTransport
	if !insecure {
		t = encrypted{t}
	}
	err := remote.WriteIndex(tag, i.index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(t), remote.WithUserAgent("nearfar/"+version))
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w%s", err, advice(tag, err))
}

// advice says what to do about a failed push; empty if the error says it.
func advice(tag name.Tag, err error) string {
	var refused *transport.Error
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, errPlain), errors.Is(err, http.ErrSchemeMismatch):
		return ": if this registry has no TLS and the network to it can be trusted, use --insecure"
	case errors.As(err, &refused) &&
		(refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden):
		return fmt.Sprintf(": log in with an account that may push there, for example with `docker login %s`",
			tag.RegistryStr())
	}
	return ""
}

// encrypted refuses requests without encryption to other machines. The library would send them to private addresses.
type encrypted struct{ http.RoundTripper }

// RoundTrip carries out a request.
func (e encrypted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !isLoopback(r.URL.Hostname()) {
		return nil, errPlain
	}
	return e.RoundTripper.RoundTrip(r)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
